// Operations of libtorch that tch does not offer, with a C interface. Tensors are pointers to at::Tensor; a tensor that is
// made belongs to the caller.

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

// The cells at most one away from one of a line.
struct Near {
  int64_t first, count;
  Near(int64_t at, int64_t cells) : first(std::max<int64_t>(at - 1, 0)), count(std::min(at + 2, cells) - first) {}
};

// The products of a convolution of 3×3 taps with "same" padding: one a cell, of the part of a strip of columns that the
// cell sees with the taps that meet it. Taps beyond the border cost nothing, and no gradient is filled with zeros that
// nobody reads, as those of narrow views are.
struct Convolution : torch::autograd::Function<Convolution> {
  // One column of cells: what it sees of the images, `samples × (rows · width · inputs)`, and the taps that meet it,
  // `outputs × (3 · width · inputs)`.
  static at::Tensor columns_of(const at::Tensor& grid, int64_t first, int64_t count) {
    return grid.narrow(2, first, count).flatten(1);
  }

  // Calls `work` with each cell, the columns that it sees, and where its part of the strip and of the taps begins and ends.
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

// Numbers on their way to memory of the host, and what tells that they have arrived, unless they are there at once.
struct Arriving {
  at::Tensor host;
  std::optional<c10::Event> arrived;
};

const Arriving& arriving(const void* pointer) {
  return *static_cast<const Arriving*>(pointer);
}

} // namespace

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
    const auto list = [](const void* pointer) { return at::TensorList(tensor(pointer)); };
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

// relu(input · weightᵀ + bias): one kernel where the device has one.
char* costar_linear_relu(const void* input, const void* weight, const void* bias, void** made) {
  return guarded([&] {
    *made = new at::Tensor(at::_addmm_activation(
        tensor(bias), tensor(input), tensor(weight).t(), /*beta=*/1, /*alpha=*/1, /*use_gelu=*/false));
  });
}

// A convolution of images, `samples × (rows · columns · inputs)`, with taps, `outputs × 3 × 3 × inputs`, which can be
// differentiated: `samples × (rows · columns · outputs)`.
char* costar_convolution(const void* images, const void* taps, int64_t rows, int64_t columns, void** made) {
  return guarded([&] { *made = new at::Tensor(Convolution::apply(tensor(images), tensor(taps), rows, columns)); });
}

// Numbers of the kind of `like` in memory of the host that a CUDA device reads by itself, not yet written.
char* costar_pinned(const void* like, int64_t count, void** made) {
  return guarded([&] {
    const auto options = at::TensorOptions().dtype(tensor(like).dtype()).pinned_memory(true);
    *made = new at::Tensor(at::empty({count}, options));
  });
}

// Begins to copy a tensor to memory of the host that its device writes by itself. What is made goes to
// `costar_drop_arrival` in the end.
char* costar_begin_arrival(const void* numbers, void** made) {
  return guarded([&] {
    const auto& from = tensor(numbers);
    auto copy = std::make_unique<Arriving>();
    if (from.is_cuda()) {
      copy->host = at::empty(from.sizes(), at::TensorOptions().dtype(from.dtype()).pinned_memory(true));
      copy->host.copy_(from, /*non_blocking=*/true);
      copy->arrived.emplace(from.device().type());
      copy->arrived->record(c10::impl::VirtualGuardImpl(from.device().type()).getStream(from.device()));
    } else {
      copy->host = from;
    }
    *made = copy.release();
  });
}

// Whether all numbers are there.
char* costar_has_arrived(const void* pointer, bool* has_arrived) {
  return guarded([&] { *has_arrived = !arriving(pointer).arrived || arriving(pointer).arrived->query(); });
}

// Waits for the numbers.
char* costar_end_arrival(const void* pointer, void** made) {
  return guarded([&] {
    if (arriving(pointer).arrived) {
      arriving(pointer).arrived->synchronize();
    }
    *made = new at::Tensor(arriving(pointer).host);
  });
}

void costar_drop_arrival(void* pointer) {
  delete static_cast<Arriving*>(pointer);
}

} // extern "C"
