// Operations of libtorch that tch does not offer, with a C interface. Tensors are pointers to at::Tensor.

#include "guarded.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adamw.h>

extern "C" {

// One step of AdamW in one pass over memory. `steps` holds the number of steps, this one included.
char* costar_fused_adamw(
    const void* values,
    const void* gradient,
    const void* first,
    const void* second,
    const void* steps,
    double learning_rate,
    double beta1,
    double beta2,
    double weight_decay,
    double epsilon) {
  return guarded([&] {
    const auto list = [](const void* tensor) { return at::TensorList(*static_cast<const at::Tensor*>(tensor)); };
    at::_fused_adamw_(
        list(values),
        list(gradient),
        list(first),
        list(second),
        {},
        list(steps),
        learning_rate,
        beta1,
        beta2,
        weight_decay,
        epsilon,
        /*amsgrad=*/false,
        /*maximize=*/false);
  });
}

} // extern "C"
