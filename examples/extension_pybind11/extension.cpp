// An extension module that reads and sets interlock's flags and modes, has flags and a kernel of its own, and works on
// devices.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <interlock.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace py = pybind11;

namespace {

const InterlockApi *api;

// An error of interlock, as a C++ exception that needs no interpreter.
struct Failure {
    InterlockError error;
};

// Calls a function of the table, and throws its error.
template <typename Call>
void check(Call &&call) {
    InterlockError error = interlock_no_error();
    if (call(&error) != INTERLOCK_OK) {
        throw Failure{error};
    }
}

// A guard that is exited with its block.
class Guard {
public:
    template <typename Enter>
    explicit Guard(Enter &&enter) {
        check([&](InterlockError *error) { return enter(&guard_, error); });
    }
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;
    ~Guard() { api->guard_exit(&guard_); }

private:
    InterlockGuard guard_{};
};

// A handle that is freed with its owner.
template <typename T>
using Handle = std::unique_ptr<T, void (*)(T *)>;

template <typename T, typename Create>
Handle<T> make(void (*release)(T *), Create &&create) {
    T *handle = nullptr;
    check([&](InterlockError *error) { return create(&handle, error); });
    return Handle<T>(handle, release);
}

using State = std::pair<bool, bool>;

// The module's own flags, and one of interlock's.
InterlockFlag level, matmul, benchmark;

State seen() {
    return {interlock_bool(api, &benchmark), interlock_is_on(api, INTERLOCK_MODE_GRAD)};
}

// Calls a function while this thread has another flag and mode.
py::object call_with(bool flag, bool grad, const py::function &function) {
    const Guard flag_guard([&](InterlockGuard *guard, InterlockError *error) {
        return interlock_enter(api, &benchmark, interlock_value_of_bool(flag), guard, error);
    });
    const Guard mode_guard([&](InterlockGuard *guard, InterlockError *error) {
        return grad ? interlock_enable_grad(api, guard, error) : interlock_no_grad(api, guard, error);
    });
    return function();
}

// Queues a function, which is destroyed once it has run.
void launch(const InterlockStream *stream, const char *name, std::function<void()> function) {
    using Function = std::function<void()>;
    const InterlockWork work = {
        [](void *data, InterlockError *) -> int32_t {
            (*static_cast<Function *>(data))();
            return INTERLOCK_OK;
        },
        new Function(std::move(function)),
        [](void *data) { delete static_cast<Function *>(data); },
    };
    check([&](InterlockError *error) { return api->stream_launch(stream, interlock_text(name), work, error); });
}

Handle<InterlockStream> current_stream() {
    return make<InterlockStream>(api->stream_free, [](InterlockStream **place, InterlockError *error) {
        return api->stream_current(nullptr, place, error);
    });
}

void synchronize(const InterlockStream *stream) {
    check([&](InterlockError *error) { return api->stream_synchronize(stream, error); });
}

// Sums bytes on the current stream of the current device, and waits. Needs no interpreter.
int64_t sum_on_stream(const uint8_t *items, int64_t count) {
    const auto stream = current_stream();
    int64_t sum = 0;
    // A GPU's library would receive the native handle of the stream, from `stream_info`.
    launch(stream.get(), "add", [=, &sum] { sum = std::accumulate(items, items + count, int64_t{0}); });
    try {
        synchronize(stream.get());
    } catch (const Failure &) {
        // A signal may have ended the wait, and the work still uses the bytes and the sum.
        api->stream_synchronize(stream.get(), nullptr);
        throw;
    }
    return sum;
}

// Sums the bytes of a tensor that the CPU can access, which arrives through DLPack.
int64_t total(const py::object &object) {
    const py::object capsule = object.attr("__dlpack__")();
    // The capsule owns a DLManagedTensor, which begins with its tensor.
    const auto *tensor = static_cast<const InterlockTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (tensor == nullptr) {
        throw py::error_already_set();
    }
    const bool is_contiguous = tensor->strides == nullptr || tensor->strides[0] == 1;
    if (tensor->device.device_type != INTERLOCK_TENSOR_CPU || tensor->ndim != 1 || tensor->dtype.bits != 8 || !is_contiguous) {
        throw py::value_error("total: tensor must be contiguous bytes that the CPU can access");
    }
    const auto *items = static_cast<const uint8_t *>(tensor->data) + tensor->byte_offset;
    const py::gil_scoped_release detached;
    return sum_on_stream(items, tensor->shape[0]);
}

// Returns what a thread of the module sees: of its own, with the state of this thread, and of its own again.
std::tuple<State, State, State> state_on_thread() {
    const auto state = make<InterlockState>(api->state_free, [](InterlockState **place, InterlockError *error) {
        return api->state_capture(0, place, error);
    });
    std::tuple<State, State, State> result;
    std::thread thread([&] {
        std::get<0>(result) = seen();
        try {
            const Guard applied([&](InterlockGuard *guard, InterlockError *error) {
                return api->state_enter(state.get(), guard, error);
            });
            std::get<1>(result) = seen();
        } catch (const Failure &) {
            std::terminate();
        }
        std::get<2>(result) = seen();
    });
    thread.join();
    return result;
}

// Works on its own thread until the process exits, also while the interpreter is finalized.
[[noreturn]] void work_until_exit() {
    for (;;) {
        const Guard guard([](InterlockGuard *place, InterlockError *error) {
            return interlock_enter(api, &benchmark, interlock_value_of_bool(true), place, error);
        });
        if (!interlock_bool(api, &benchmark)) {
            std::terminate();
        }
        try {
            static const uint8_t items[] = {20, 22};
            if (sum_on_stream(items, 2) != 42) {
                std::terminate();
            }
        } catch (const Failure &) {
            // There is no accelerator.
        }
    }
}

void register_level() {
    InterlockFlagDecl declaration{};
    declaration.size = sizeof declaration;
    declaration.kind = INTERLOCK_KIND_INTEGER;
    declaration.name = interlock_text("extension_pybind11.level");
    declaration.doc = interlock_text("How much the extension prints.");
    declaration.default_value = interlock_value_of_integer(-1);
    declaration.minimum = interlock_value_of_integer(-1);
    declaration.maximum = interlock_value_of_integer(9);
    level.size = sizeof level;
    InterlockError warning = interlock_no_error();
    check([&](InterlockError *error) { return api->flag_register(&declaration, &level, &warning, error); });
    if (warning.code != INTERLOCK_OK && PyErr_WarnEx(PyExc_RuntimeWarning, warning.text, 1) != 0) {
        throw py::error_already_set();
    }
}

bool is_float_matrix(const InterlockTensor &tensor) {
    return tensor.ndim == 2 && tensor.device.device_type == INTERLOCK_TENSOR_CPU &&
           tensor.dtype.code == INTERLOCK_DTYPE_FLOAT && tensor.dtype.bits == 32;
}

// Accepts two matrices of floats on the CPU. The tensors have no data yet.
int32_t can_multiply(void *, const InterlockKernelCall *call, char *message, size_t capacity) {
    if (is_float_matrix(call->inputs[0]) && is_float_matrix(call->inputs[1])) {
        return INTERLOCK_STATUS_DONE;
    }
    std::snprintf(message, capacity, "needs matrices of float32 on the CPU");
    return INTERLOCK_STATUS_REFUSED;
}

// Multiplies two matrices of floats, and sums in double precision. A kernel must not throw.
int32_t multiply(void *, const InterlockKernelCall *call, char *, size_t) {
    const InterlockTensor &left = call->inputs[0], &right = call->inputs[1];
    const auto element = [](const InterlockTensor &matrix, int64_t row, int64_t column) -> double {
        return static_cast<const float *>(matrix.data)[row * matrix.strides[0] + column * matrix.strides[1]];
    };
    auto *out = static_cast<float *>(call->outputs[0].data);
    for (int64_t row = 0; row < left.shape[0]; row++) {
        for (int64_t column = 0; column < right.shape[1]; column++) {
            double sum = 0;
            for (int64_t i = 0; i < left.shape[1]; i++) {
                sum += element(left, row, i) * element(right, i, column);
            }
            *out++ = static_cast<float>(sum);
        }
    }
    return INTERLOCK_STATUS_DONE;
}

// Registers the module's kernel, which its flag `extension_pybind11.matmul` switches off.
void register_kernel() {
    InterlockFlagDecl declaration{};
    declaration.size = sizeof declaration;
    declaration.kind = INTERLOCK_KIND_BOOL;
    declaration.name = interlock_text("extension_pybind11.matmul");
    declaration.doc = interlock_text("Whether the extension multiplies matrices.");
    declaration.default_value = interlock_value_of_bool(true);
    matmul.size = sizeof matmul;
    check([&](InterlockError *error) { return api->flag_register(&declaration, &matmul, nullptr, error); });
    const InterlockFlagRequirement requirement{"extension_pybind11.matmul", "True"};
    InterlockKernel kernel{};
    kernel.size = sizeof kernel;
    kernel.name = "extension_pybind11";
    kernel.requirements = &requirement;
    kernel.num_requirements = 1;
    kernel.condition = can_multiply;
    kernel.run = multiply;
    check([&](InterlockError *error) { return api->kernel_register(interlock_text("matmul"), &kernel, error); });
}

} // namespace

PYBIND11_MODULE(extension_pybind11, module) {
    module.doc() = "An extension module in C++ that shares interlock's state.";
    api = interlock_import();
    if (api == nullptr) {
        throw py::error_already_set();
    }
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Failure &failure) {
            api->error_raise(&failure.error);
        }
    });
    try {
        register_level();
        register_kernel();
        check([](InterlockError *error) { return interlock_find(api, "cudnn.benchmark", &benchmark, error); });
    } catch (const Failure &failure) {
        // Translators are called for functions, not for the initialization of a module.
        api->error_raise(&failure.error);
        throw py::error_already_set();
    }
    const auto detached = py::call_guard<py::gil_scoped_release>();
    module.def("state", &seen, "Return `cudnn.benchmark` and the gradient mode of this thread.");
    module.def("call_with", &call_with, "Call a function while this thread has another flag and mode.");
    module.def("level", [] { return interlock_integer(api, &level); }, "Return the module's own flag.");
    module.def(
        "set_level",
        [](int64_t value) {
            check([&](InterlockError *error) {
                return interlock_set(api, &level, interlock_value_of_integer(value), error);
            });
        },
        "Write the module's own flag.");
    module.def("total", &total, "Sum the bytes of a tensor on the current stream.");
    module.def(
        "wait", [] { synchronize(current_stream().get()); }, detached, "Wait for the work of the current stream.");
    module.def("state_on_thread", &state_on_thread, detached, "Return what a thread of the module sees.");
    module.def(
        "start_thread", [] { std::thread(work_until_exit).detach(); },
        "Start a thread that works until the process exits.");
}
