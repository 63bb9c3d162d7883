# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of AMD's GPUs: ROCr (HSA), HIP and its libraries, and the kernel driver amdgpu (amdgpu_ras.c, kfd)."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

# "amdgpu 0000:05:00.0: amdgpu: "; newer kernels leave the second name out.
_DRIVER = rb"amdgpu(?: [\da-f:.]{7,16})?: "

SIGNATURES = (
    Signature(
        "gpu_ecc",
        "A GPU on this node has uncorrectable memory errors. Drain the node, read the RAS counters (amd-smi metric "
        "--ecc) and the kernel log, and reset the GPU; replace it if the errors return.",
        rb"uncorrectable hardware errors?\b|[1-9]\d{0,8} (?:new )?uncorrectable errors? |ERREVENT_ATHUB_INTERRUPT"
        rb"|RAS[^\r\n]{0,99} poison consum|poison consumption|bad page threshold"
        rb"|RAS[^\r\n]{0,200}[Uu]ncorrectable ECC|amdgpu: (?:RAS: )?Uncorrectable error"
        rb"|Poison is consumed by client|bad pages exceeding the threshold"
        rb"|[1-9]\d{0,8} (?:new )?deferred hardware error|GPU is in RMA state|Memory critical error by agent node",
        sample=("[ 12.1] amdgpu 0000:05:00.0: amdgpu: GPU will not be initialized due to bad page threshold."),
    ),
    Signature(
        "gpu_hang",
        "A GPU on this node hung. Drain the node, check its kernel log for amdgpu messages, and reset the GPU.",
        rb"HW Exception by GPU|" + _DRIVER + rb"GPU reset begin|queues preemption"
        rb"|fence wait loop timeout expired"
        rb"|GPU Recovery Failed"
        rb"|" + _DRIVER + rb"GPU reset\(\d{1,9}\) failed|[Ff]ailed to evict process queues|device lost from bus"
        rb"|\*ERROR\* ring \S{1,60} timeout|SMU: (?:I'm not done with your previous command|No response)"
        rb"|MES failed to respon|" + _DRIVER + rb"ring \S{1,60} timeout, signaled|[Qq]ueue preemption time out"
        rb"|" + _DRIVER + rb"(?:GPU reset end with ret = -|PCI error: detected callback|IP block:\S{1,40} is hung!)"
        rb"|" + _DRIVER + rb"(?:failed to unmap legacy queue|(?:GPU mode|MODE)\d reset)|Resetting wave fronts"
        rb"|VRAM is lost due to GPU",
        more_specific_than=("any error of amdgpu",),
        sample="[ 12.1] amdgpu 0000:05:00.0: amdgpu: MODE1 reset",
    ),
    Signature(
        "gpu_memory_fault",
        None,
        rb"Memory access fault by GPU|(?:\]|retry) page fault \(src_id|amdgpu: \w{0,20}PROTECTION_FAULT_STATUS"
        rb"|HSA_STATUS_ERROR_MEMORY_(?:FAULT|APERTURE_VIOLATION)",
        more_specific_than=("any HIP error",),
        sample=("Memory access fault by GPU node-3 (Agent handle: 0x1) on address 0x7f. Reason: Page not present."),
    ),
    Signature(
        "permission_denied",
        "The training user has no access to the GPUs. Add it to the groups that own /dev/kfd and /dev/dri, usually "
        "video and render (ls -ln; docker run --group-add).",
        rb"/dev/kfd[^\r\n]{0,40}: Permission denied"
        rb"|is not member of \"[^\"\r\n]{1,60}\" group, the default DRM access group",
        nearness=BLAME["no_gpu"] - 1,
        more_specific_than=(
            "unusable AMD GPU",
            "any file permission",
        ),
        sample="Unable to open /dev/kfd read-write: Permission denied",
    ),
    Signature(
        "no_gpu",
        "The GPUs are unusable. Check that the amdgpu driver is loaded and matches the image's ROCm, that /dev/kfd "
        "and /dev/dri are passed in, and that the user is in the groups video and render.",
        rb"Initializing the hsa runtime failed|hsa api call failure|initialize Tensile host"
        rb"|[Uu]nable to open /dev/kfd|[Cc]ould not open /dev/kfd|[Ff]ailed to open /dev/kfd"
        rb"|ROCk module is NOT loaded|Fatal error during GPU init|probe with driver amdgpu failed"
        rb"|PCI rejects atomics|amdgpu: PSP load \w{1,30} failed|amdgpu_device_ip_init failed"
        rb"|hw_init of IP block <\w{1,30}> failed|Driver not initialized \(amdgpu|\b(?:AMD"
        rb"|R)SMI_STATUS_(?!SUCCESS)[A-Z_]{1,40}|Agent creation failed\.|/dev/kfd['\"]?: (?:No such file"
        rb"|Invalid argument|Operation not permitted)",
        name="unusable AMD GPU",
        sample="[ 12.1] kfd kfd: amdgpu: skipped device 1:2, PCI rejects atomics 7<0",
    ),
    Signature(
        "no_gpu",
        "The container has no usable GPU. Check the driver, the devices passed in (/dev/kfd, /dev/dri) and "
        "HIP_VISIBLE_DEVICES.",
        rb"error from hipGetDeviceCount|/dev/dri[^\r\n]{0,99}: Permission denied|No HIP GPUs are available"
        rb"|failed call to hipInit|librocm reported version is: NOT_FOUND",
        name="no AMD GPU in the container",
        more_specific_than=("any file permission",),
        sample=("E rocm_diagnostics.cc:1] librocm reported version is: NOT_FOUND: was unable to find librocm.so"),
    ),
    Signature(
        "out_of_memory",
        None,
        rb"HIP out of memory|HSA_STATUS_ERROR_OUT_OF_RESOURCES",
        more_specific_than=("any HIP error",),
        sample="HIP out of memory. Tried to allocate 2.00 GiB.",
    ),
    Signature(
        "driver_mismatch",
        None,
        rb"HIP (?:[Ee]rror: |failure:? ')initialization error|\bhipErrorNotInitialized\b|KFD does not support"
        rb"|Incompatible kernel and userspace",
        more_specific_than=("any HIP error",),
        sample="RuntimeError: HIP error: initialization error",
    ),
    Signature(
        "wrong_gpu_build",
        None,
        rb"Unable to find code object for|Cannot read \S{1,300}TensileLibrary_lazy_gfx"
        rb"|TensileLibrary[^\r\n]{0,300} for GPU arch|hipErrorSharedObjectInitFailed"
        rb"|HSA_STATUS_ERROR_INVALID_ISA|ISA \S{1,99} is not compatible with the device ISA"
        rb"|No compatible code objects found for|Cannot find CO in the bundle|Missing CO for these ISAs",
        more_specific_than=(
            "any ROCm library",
            "any HIP error",
        ),
        sample=("rocBLAS error: Cannot read /x/TensileLibrary.dat: No such file or directory for GPU arch : gfx942"),
    ),
    Signature(
        "compile",
        "A ROCm library could not compile a kernel on this node. Read the lines before this one; check that the image "
        "has the headers and device libraries of its own ROCm, and that its version supports this GPU.",
        rb"HIPRTC_ERROR_(?:COMPILATION|LINKING|BUILTIN_OPERATION_FAILURE)|Code object build failed"
        rb"|MIOpen\(HIP\): Error \[(?:Compile|Build)|COMGR_STATUS_ERROR|\[aiter\] build \[[^\r\n]{1,300} failed !",
        sample="  what():  /x/hipoc_program.cpp:304: Code object build failed. Source: y.cpp",
    ),
    Signature(
        "settings_refused",
        "An AITER kernel does not support these sizes, this precision or this GPU. The text after the file name says "
        "which; change it, disable the kernel, or use another image.",
        rb"\[AITER\] [^ \r\n]{1,300}\.(?:cu|cpp|cuh|h|hpp):\d{1,6} (?![^\r\n]{0,400}\[HIP error\])",
        sample="RuntimeError: [AITER] /x/csrc/odd.cu:99 Unsupported head_size: 7",
    ),
    Signature(
        "io_error",
        "MIOpen cannot use its kernel database, usually because it is on a shared file system. Set "
        "MIOPEN_USER_DB_PATH and MIOPEN_CUSTOM_CACHE_DIR to a local disk of the node.",
        rb"accessing SQLite database",
        nearness=12,
        more_specific_than=("any ROCm library",),
        sample=("MIOpen Error: /x/sqlite_odd.cpp:220: Internal error while accessing SQLite database: odd"),
    ),
    Signature(
        "gpu_error",
        "A ROCm math library failed (hipBLASLt, rocBLAS, MIOpen). Try another image or ROCm version, other sizes or "
        "another precision; if only one node fails, check its GPU and kernel log.",
        rb"\bHIPBLAS_STATUS_(?!SUCCESS)[A-Z_]{1,60}|(?i:hipblaslt error)|(?i:rocblaslt error)|rocBLAS error"
        rb"|(?i:rocblas_status_)(?!(?i:success))\w{1,60}|MIOpen(?:\(HIP\))?:? Error(?! \[(?:Compile|Build))"
        rb"|\bmiopenStatus(?!Success)\w{1,60}|\b(?:HIPFFT_|ROCFFT_STATUS_)(?!SUCCESS)[A-Z_]{1,60}"
        rb"|Unable to find any suitable algorithm",
        name="any ROCm library",
        sample="MIOpen Error: /MIOpen/src/hip/handlehip.cpp:116: Failed to allocate workspace",
    ),
    Signature(
        "gpu_error",
        "A GPU kernel failed. Run again with AMD_SERIALIZE_KERNEL=3 to find out which one, and read the node's kernel "
        "log.",
        rb"\bhip[A-Z]\w{1,40} failed : |does not support this problem|== hipSuccess|\bHSA_STATUS_ERROR\w{0,60}"
        rb"|HIP [Ee]rror: |HIP error \([^ \r\n]{1,300}:\d{1,6}\): |HIP failure:? "
        rb"|(?<!Search for `)\bhipError[A-Z]\w{1,60}(?:[ '\")(:.]|$)|inactivated due to async error|HSA exception: "
        rb"|HIP runtime error: |Triton Error \[HIP\]: |\[HIP error\]\(|\bHIP_ERROR_[A-Z]\w{1,40}",
        name="any HIP error",
        sample="HIP error (/x/odd.hip:7): invalid argument",
    ),
    Signature(
        "gpu_hang",
        None,
        rb"\[amdgpu\]\] \*ERROR\* |" + _DRIVER + rb"[^\r\n]{0,99}(?:\b[Ff]ailed to (?!load|find|parse)"
        rb"|\breset failed|unrecoverable"
        rb"|sq_intr: error"
        rb"|destroy queue \d{1,9} failed)",
        name="any error of amdgpu",
        sample="[amdgpu]] *ERROR* ",
    ),
)
