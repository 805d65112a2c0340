// After a header of the host.
#pragma pop_macro("printf")
#pragma pop_macro("__forceinline__")
#pragma pop_macro("__noinline__")
