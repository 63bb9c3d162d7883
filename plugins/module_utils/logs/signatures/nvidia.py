# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of NVIDIA: CUDA and its libraries, NVML, and the kernel driver (numbers by NVIDIA's catalogue of Xids)."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature
from . import codes

SIGNATURES = (
    Signature(
        "gpu_error",
        codes.FELL_OUT,
        rb"fallen off the bus|GPU is lost|Unable to determine the device handle for GPU",
        sample="Unable to determine the device handle for GPU 0000:3B:00.0: Unknown Error",
    ),
    Signature(
        "driver_mismatch",
        None,
        rb"Driver/library version mismatch|driver on your system is too old|Error 802: system not yet initialized"
        rb"|NVRM: API mismatch: |CUDA Driver version found is|kernel driver does not match"
        rb"|[Ff]abric [Mm]anager [^\r\n]{0,99} do(?:es)?n't match |RM has detected an NVML/RM version mismatch"
        rb"|NVRM: [^\r\n]{0,99}requires use of the NVIDIA open kernel",
        sample="Fabric Manager version 7.1 doesn't match odd",
    ),
    Signature(
        "gpu_error",
        "NVIDIA's driver could not start a GPU. Drain the node, read its kernel log around this line, and reset the "
        "GPU or reboot; if it fails again, reseat or replace the GPU.",
        rb"NVRM: [^\r\n]{0,60}(?:RmInitAdapter|rm_init_adapter) failed",
        # Programs then say that they see no GPU.
        nearness=BLAME["no_gpu"] - 1,
        more_specific_than=("any error of NVIDIA's driver",),
        sample="[ 12.1] NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x7:0x8:9)",
    ),
    Signature(
        "no_gpu",
        "No GPU is usable. Check nvidia-smi on the node, the devices passed in (--gpus), CUDA_VISIBLE_DEVICES, and "
        "whether another process uses the GPUs.",
        rb"error from cudaGetDeviceCount|Torch not compiled with CUDA|No CUDA GPUs are available"
        rb"|Found no NVIDIA driver|couldn't communicate with the NVIDIA driver|devices?(?:\(s\))?(?: are"
        rb"| is)? busy or unavailable|Failed to initialize NVML: "
        rb"|CUDA unknown error - this may be due to an incorrectly set up environment|nvml error: driver not loaded"
        rb"|probe with driver nvidia failed"
        rb"|nvidia: probe of \S{1,20} failed|is only supported with GPUs, no GPUs found|(?m:^No devices were found)"
        rb"|CUDA driver initialization failed|(?:libcuda|libnvidia-ml)\.so[.\d]{0,9}: cannot open shared object"
        rb"|Failed to open libnvidia-ml|NVML Shared Library Not Found|failed call to cuInit: "
        rb"|NVRM: This PCI I/O region assigned to your NVIDIA device is invalid|Error: (?:Can't initialize NVML"
        rb"|Cannot use \S{1,20} without accelerator\.)|Error: [^\r\n]{0,160}device < num_gpus"
        rb"|No supported gpu backend found|can not run on your system since the accelerator is not available"
        rb"|No NVIDIA GPU(?:s|) found|NVMLError_DriverNotLoaded|Driver Not Loaded"
        rb"|Error: [^\r\n]{0,200}torch\.cuda\.is_available\(\) is False",
        sample="odd: nvml error: driver not loaded",
    ),
    Signature(
        "out_of_memory",
        None,
        rb"CUDA out of memory|\b(?:CU[A-Z]{1,12}_STATUS|CUFFT)_(?:ALLOC_FAILED|INSUFFICIENT_RESOURCES"
        rb"|INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)\b",
        name="memory of a CUDA library",
        more_specific_than=("any CUDA error",),
        sample="RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED",
    ),
    Signature(
        "wrong_gpu_build",
        None,
        rb"\bCU\w{1,30}_ARCH_MISMATCH\b|Value '\w{1,20}' is not defined for option 'gpu-name'"
        rb"|\bfatal {1,4}: Unsupported gpu architecture",
        more_specific_than=("any kernel compilation",),
        sample="nvcc fatal   : Unsupported gpu architecture 'compute_120'",
    ),
    Signature(
        "import_error",
        "A library is missing or older than the program needs. Use the image that the program was built for.",
        rb"\bCUDNN_STATUS_\w{0,30}(?:VERSION_MISMATCH|LOADING_FAILED|PREREQUISITE_MISSING)\b",
        more_specific_than=("any CUDA error",),
        sample="RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    ),
    Signature(
        "wrong_rank",
        "A rank asks for a GPU that it cannot see. Check processes per node, the local ranks, and "
        "CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES.",
        rb"on CUDA device \d{1,4} but torch\.cuda\.device_count\(\) is \d|AssertionError: Invalid device id",
        sample="AssertionError: Invalid device id",
    ),
    Signature(
        "sizes",
        codes.ASSERT,
        rb"IndexError: index out of range in self|[Dd]evice-side assertion\b|, thread: \[[\d,]{1,20}\] Assertion",
        nearness=BLAME["gpu_error"] - 1,
        sample="IndexError: index out of range in self",
    ),
    Signature(
        "sizes",
        "cuBLASLt has no matrix multiplication for these sizes and this precision. FP8 supports only multiples of 16: "
        "check sequence length, hidden size and micro batch size, or use a newer image.",
        rb"Error: [^\r\n]{0,300}Unable to find suitable cuBLAS GEMM algorithm",
        sample=("RuntimeError: odd.cu:452 in function cublas_gemm: odd. Unable to find suitable cuBLAS GEMM algorithm"),
    ),
    Signature(
        "gpu_error",
        "A GPU library could not start, usually because GPU memory is full. Lower the micro batch size; check "
        "(nvidia-smi, amd-smi) whether another process uses GPU memory, and whether the library matches the driver.",
        rb"\b(?:CUBLAS|CUDNN|HIPBLAS|CUSOLVER)_STATUS_NOT_INITIALIZED\b",
        more_specific_than=(
            "any CUDA error",
            "any ROCm library",
        ),
        sample="RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    ),
    Signature(
        "gpu_error",
        "A GPU kernel or library failed. Run again with CUDA_LAUNCH_BLOCKING=1 to find out which one, read the kernel "
        "log for Xid lines, and compare with another node.",
        rb"CUDA [Ee]rror: |CUDART Error: |an illegal memory access was encountered|unspecified launch failure"
        rb"|invalid device pointer|\binvalid resource handle|\bmisaligned address|cuBLAS Error: |CUBLAS Error: "
        rb"|cuDNN Error: |cublasLt ran into an error|unable to find an engine to execute"
        rb"|\bcuda[A-Z]\w{1,40} failed : |cuda runtime error \(|\bCUBLAS_STATUS_(?!SUCCESS)[A-Z_]{1,60}|\b(?:CUDNN"
        rb"|CUSOLVER|CUSPARSE)_STATUS_(?!SUCCESS)[A-Z_]{1,60}|(?m:^Error [^\r\n]{1,99} at line \d{1,6} in file )"
        rb"|\bCUDA_ERROR_[A-Z_]{1,60}|Cuda failure |Triton Error \[CUDA\]: |"
        + codes.XID
        + rb"(?!16[2-5]\b)[1-9]\d{0,2}\b"
        rb"|CUDA driver error: |CUDA error (?:at |\([^ \r\n]{1,300}:\d{1,6}\): )|CUDA RT call \S{1,99} in line"
        rb"|GPUassert: |cuDNN Frontend error|INTERNAL ASSERT FAILED at \"[^\"\r\n]{0,200}c10/(?:cuda|hip)/"
        rb"|(?<!Search for `)\bcudaError[A-Z]\w{1,40}(?:[ '\")(:.]|$)|\bCUFFT_(?!SUCCESS)[A-Z_]{1,60}"
        rb"|\bSXid \([^)\r\n]{1,60}\): \d{1,6}",
        name="any CUDA error",
        more_specific_than=("status INTERNAL",),
        sample="Error odd argument at line 7 in file /x/ops.cu",
    ),
    Signature(
        "gpu_ecc",
        "A GPU on this node has no spare memory rows left for failed ones (nvidia-smi -q -d ROW_REMAPPER). Drain the "
        "node, and replace the GPU.",
        rb"[Rr]ow[- ][Rr]emapping fail(?:ure|ed)|Remapping Failure Occurred {1,20}: Yes",
        sample="gpu6: row remapping failure pending=1 failed=1",
    ),
    Signature(
        "gpu_error",
        "The GPU driver reports an error. Read the kernel log around this line, and drain the node if the error "
        "returns after a reset.",
        rb"NVRM: (?!failed to allocate )[^\r\n]{0,160}(?:\b[Ff]ail|\b[Ee]rror|[Tt]imed? ?out)|\bNVML: ?Unable to "
        rb"|\bNVMLError_(?:Unknown|ResetRequired|IrqIssue|NoPermission|OperatingSystem|Timeout)\b",
        name="any error of NVIDIA's driver",
        sample="pynvml.NVMLError_ResetRequired: odd",
    ),
)
