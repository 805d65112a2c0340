// PyTorch's types that the structures of the library's host code have as members.
namespace torch
{
struct CustomClassHolder
{
};
} // namespace torch
namespace at
{
struct Tensor
{
};
} // namespace at
#include "ExternalDistortionWrappers.h" // nothing of it, as it has an #if of the next macro
#define GSPLAT_BUILD_CAMERA_WRAPPERS 1
#include "../clone/gsplat/cuda/csrc/ExternalDistortionWrappers.cu"
