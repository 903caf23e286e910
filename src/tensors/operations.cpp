// Operations of libtorch that tch does not offer, with a C interface. Tensors are pointers to at::Tensor; the caller owns
// each tensor that a function makes.

#include "guarded.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const at::Tensor& tensor(const void* pointer) {
  return *static_cast<const at::Tensor*>(pointer);
}

// The cells of a line within a distance of one from `at`.
struct Near {
  int64_t first, count;
  Near(int64_t at, int64_t cells) : first(std::max<int64_t>(at - 1, 0)), count(std::min(at + 2, cells) - first) {}
};

// A convolution of 3×3 taps with "same" padding as one product per cell: the part of a strip of columns that the cell sees
// times the taps that meet it. Taps beyond the border cost nothing. Gradients are written in place: those of narrow views
// would be filled with zeros that nobody reads.
struct Convolution : torch::autograd::Function<Convolution> {
  // Columns of the images that one column of cells sees, `samples × (rows · width · inputs)`, or of the taps that meet it,
  // `outputs × (3 · width · inputs)`.
  static at::Tensor columns_of(const at::Tensor& grid, int64_t first, int64_t count) {
    return grid.narrow(2, first, count).flatten(1);
  }

  // Calls `work` with each cell of a column: its index, the start of its part of the strip and of the taps, and their
  // length.
  template <typename Work>
  static void each_cell(int64_t rows, int64_t column, int64_t columns, int64_t inputs, Work work) {
    const auto line = Near(column, columns).count * inputs;
    for (int64_t row = 0; row < rows; row++) {
      const Near near(row, rows);
      work(row * columns + column, near.first * line, (near.first + 1 - row) * line, near.count * line);
    }
  }

  static at::Tensor forward(
      AutogradContext* context,
      const at::Tensor& images,
      const at::Tensor& taps,
      int64_t rows,
      int64_t columns) {
    context->save_for_backward({images, taps});
    context->saved_data["rows"] = rows;
    context->saved_data["columns"] = columns;
    const auto samples = images.size(0), outputs = taps.size(0), inputs = taps.size(3);
    const auto grid = images.view({samples, rows, columns, inputs});
    auto all = at::empty({samples, rows * columns * outputs}, images.options());
    for (int64_t column = 0; column < columns; column++) {
      const Near near(column, columns);
      const auto strip = columns_of(grid, near.first, near.count);
      const auto met = columns_of(taps, near.first + 1 - column, near.count);
      each_cell(rows, column, columns, inputs, [&](int64_t cell, int64_t from, int64_t tap, int64_t count) {
        auto output = all.narrow(1, cell * outputs, outputs);
        at::mm_out(output, strip.narrow(1, from, count), met.narrow(1, tap, count).t());
      });
    }
    return all;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &images = saved[0], &taps = saved[1];
    const auto rows = context->saved_data["rows"].toInt(), columns = context->saved_data["columns"].toInt();
    const auto samples = images.size(0), outputs = taps.size(0), inputs = taps.size(3);
    const auto grid = images.view({samples, rows, columns, inputs});
    const auto of_outputs = gradients[0].contiguous();
    const auto needs_images = context->needs_input_grad(0);
    auto of_images = at::zeros_like(grid, at::MemoryFormat::Contiguous);
    auto of_taps = at::zeros_like(taps, at::MemoryFormat::Contiguous);
    for (int64_t column = 0; column < columns; column++) {
      const Near near(column, columns);
      const auto strip = columns_of(grid, near.first, near.count);
      const auto met = columns_of(taps, near.first + 1 - column, near.count);
      auto of_strip = at::zeros_like(strip), of_met = at::zeros_like(met);
      each_cell(rows, column, columns, inputs, [&](int64_t cell, int64_t from, int64_t tap, int64_t count) {
        const auto of_output = of_outputs.narrow(1, cell * outputs, outputs);
        of_met.narrow(1, tap, count).addmm_(of_output.t(), strip.narrow(1, from, count));
        if (needs_images) {
          of_strip.narrow(1, from, count).addmm_(of_output, met.narrow(1, tap, count));
        }
      });
      of_taps.narrow(2, near.first + 1 - column, near.count) += of_met.view({outputs, 3, near.count, inputs});
      if (needs_images) {
        of_images.narrow(2, near.first, near.count) += of_strip.view({samples, rows, near.count, inputs});
      }
    }
    return {needs_images ? of_images.view_as(images) : at::Tensor(), of_taps, at::Tensor(), at::Tensor()};
  }
};

// A copy of a tensor to the host, and the event that ends it, unless the tensor was there already.
struct Download {
  at::Tensor host;
  std::optional<c10::Event> done;
};

const Download& download(const void* pointer) {
  return *static_cast<const Download*>(pointer);
}

} // namespace

extern "C" {

struct Rates {
  double learning_rate, beta1, beta2, weight_decay, epsilon;
};

// One step of AdamW in one pass over memory. The tensors are values, gradient, first and second moments, and the number of
// steps, including this one; and the learning rate, unless it is that of `rates`.
char* costar_fused_adamw(const void* const* tensors, const Rates* rates) {
  return guarded([&] {
    const auto list = [&](int index) { return at::TensorList(tensor(tensors[index])); };
    const auto step = [&](const auto& learning_rate) {
      at::_fused_adamw_(
          list(0),
          list(1),
          list(2),
          list(3),
          {},
          list(4),
          learning_rate,
          rates->beta1,
          rates->beta2,
          rates->weight_decay,
          rates->epsilon,
          /*amsgrad=*/false,
          /*maximize=*/false);
    };
    tensors[5] ? step(tensor(tensors[5])) : step(rates->learning_rate);
  });
}

// relu(input · weightᵀ + bias), in one kernel where the device has one; the tensors are input, weight and bias. The function
// of tch passes `use_gelu` as `beta`, and so loses the bias.
char* costar_linear_relu(const void* const* tensors, void** made) {
  return guarded([&] {
    const auto &input = tensor(tensors[0]), &weight = tensor(tensors[1]), &bias = tensor(tensors[2]);
    *made = new at::Tensor(
        at::_addmm_activation(bias, input, weight.t(), /*beta=*/1, /*alpha=*/1, /*use_gelu=*/false));
  });
}

// A differentiable convolution of images, `samples × (rows · columns · inputs)`, with taps, `outputs × 3 × 3 × inputs`:
// `samples × (rows · columns · outputs)`.
char* costar_convolution(const void* images, const void* taps, int64_t rows, int64_t columns, void** made) {
  return guarded([&] { *made = new at::Tensor(Convolution::apply(tensor(images), tensor(taps), rows, columns)); });
}

// An uninitialized tensor of the kind of `like` in pinned memory of the host.
char* costar_pinned(const void* like, int64_t count, void** made) {
  return guarded([&] {
    const auto options = at::TensorOptions().dtype(tensor(like).dtype()).pinned_memory(true);
    *made = new at::Tensor(at::empty({count}, options));
  });
}

// Begins to copy a tensor to pinned memory of the host. The caller gives the copy to `costar_drop_download` in the end.
char* costar_begin_download(const void* numbers, void** made) {
  return guarded([&] {
    const auto& from = tensor(numbers);
    auto copy = std::make_unique<Download>();
    if (from.is_cuda()) {
      copy->host = at::empty(from.sizes(), at::TensorOptions().dtype(from.dtype()).pinned_memory(true));
      copy->host.copy_(from, /*non_blocking=*/true);
      copy->done.emplace(from.device().type());
      copy->done->record(c10::impl::VirtualGuardImpl(from.device().type()).getStream(from.device()));
    } else {
      copy->host = from;
    }
    *made = copy.release();
  });
}

// Whether a copy is done.
char* costar_is_downloaded(const void* pointer, bool* is_done) {
  return guarded([&] { *is_done = !download(pointer).done || download(pointer).done->query(); });
}

// Waits for a copy.
char* costar_end_download(const void* pointer, void** made) {
  return guarded([&] {
    if (download(pointer).done) {
      download(pointer).done->synchronize();
    }
    *made = new at::Tensor(download(pointer).host);
  });
}

void costar_drop_download(void* pointer) {
  delete static_cast<Download*>(pointer);
}

} // extern "C"
