// Before a header of the host: it uses these words as they are.
#pragma push_macro("__noinline__")
#pragma push_macro("__forceinline__")
#pragma push_macro("printf")
#undef __noinline__
#undef __forceinline__
#undef printf
