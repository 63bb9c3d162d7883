# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's GPUs say: ROCr (HSA), HIP and its libraries, and the kernel driver amdgpu (amdgpu_ras.c, kfd)."""

from __future__ import annotations

from ..signature import BLAME, Signature
from . import codes

# "amdgpu 0000:05:00.0: amdgpu: "; newer kernels leave the second name out.
_DRIVER = rb"amdgpu(?: [\da-f:.]{7,16})?: "

SIGNATURES = (
    Signature(
        "gpu_ecc",
        (
            b"uncorrectable",
            b"ERREVENT_ATHUB",
            b"poison consum",
            b"bad page threshold",
            b"ncorrectable ECC",
            b"ncorrectable error",
            b"Poison is consumed",
            b"bad pages exceed",
            *(b"deferred hardware error", b"RMA state", b"Memory critical error"),
        ),
        "A GPU of this node has uncorrectable memory errors: drain the node, read the RAS counters (amd-smi metric "
        "--ecc) and the kernel log, reset the GPU, and replace it where they come back.",
        (
            rb"uncorrectable hardware errors?\b|[1-9]\d{0,8} (?:new )?uncorrectable errors? |ERREVENT_ATHUB_INTERRUPT"
            rb"|RAS[^\r\n]{0,99} poison consum|poison consumption|bad page threshold"
            rb"|RAS[^\r\n]{0,200}[Uu]ncorrectable ECC|amdgpu: (?:RAS: )?Uncorrectable error"
            rb"|Poison is consumed by client|bad pages exceeding the threshold"
            rb"|[1-9]\d{0,8} (?:new )?deferred hardware error|GPU is in RMA state|Memory critical error by agent node"
        ),
    ),
    Signature(
        "gpu_hang",
        (
            *(b"HW Exception by GPU", b"GPU reset begin", b"queues preemption", b"fence wait loop timeout"),
            *(b"GPU Recovery Failed", b"GPU reset(", b"evict process queues", b"device lost from bus", b"ERROR* ring "),
            *(b"GPU mode", b"MODE", b"Resetting wave fronts", b"VRAM is lost"),
            *(
                b"SMU: ",
                b"MES failed to respon",
                b" timeout, signaled",
                b"reset end with ret",
                b"PCI error: detected",
                b"is hung!",
                b"reemption time out",
                b"unmap legacy queue",
            ),
        ),
        "A GPU of this node hung: drain the node, read its kernel log for amdgpu messages and reset the GPU.",
        (
            rb"HW Exception by GPU|" + _DRIVER + rb"GPU reset begin|queues preemption"
            rb"|fence wait loop timeout expired"
            rb"|GPU Recovery Failed"
            rb"|" + _DRIVER + rb"GPU reset\(\d{1,9}\) failed|[Ff]ailed to evict process queues|device lost from bus"
            rb"|\*ERROR\* ring \S{1,60} timeout|SMU: (?:I'm not done with your previous command|No response)"
            rb"|MES failed to respon|" + _DRIVER + rb"ring \S{1,60} timeout, signaled|[Qq]ueue preemption time out"
            rb"|" + _DRIVER + rb"(?:GPU reset end with ret = -|PCI error: detected callback|IP block:\S{1,40} is hung!)"
            rb"|" + _DRIVER + rb"(?:failed to unmap legacy queue|(?:GPU mode|MODE)\d reset)|Resetting wave fronts"
            rb"|VRAM is lost due to GPU"
        ),
    ),
    Signature(
        "gpu_memory_fault",
        (b"Memory access fault by GPU", b"page fault (src_id", b"PROTECTION_FAULT_STATUS", b"HSA_STATUS_ERROR_MEMORY_"),
        "A kernel touched memory that is not its own: if other nodes run the same software well, suspect the GPU "
        "(kernel log, RAS counters); if not, the container image.",
        rb"Memory access fault by GPU|(?:\]|retry) page fault \(src_id|amdgpu: \w{0,20}PROTECTION_FAULT_STATUS"
        rb"|HSA_STATUS_ERROR_MEMORY_(?:FAULT|APERTURE_VIOLATION)",
    ),
    Signature(
        "permission_denied",
        (b"/dev/kfd", b"is not member of "),
        "The user of the training may not open the GPUs: add it to the groups that own /dev/kfd and /dev/dri (ls -ln; "
        "docker run --group-add), mostly video and render.",
        rb"/dev/kfd[^\r\n]{0,40}: Permission denied"
        rb"|is not member of \"[^\"\r\n]{1,60}\" group, the default DRM access group",
        nearness=BLAME["no_gpu"] - 1,
    ),
    Signature(
        "no_gpu",
        (
            *(
                b"open /dev/kfd",
                b"/dev/kfd",
                b"hsa runtime failed",
                b"hsa api call",
                b"Tensile host",
                b"ROCk module is NOT loaded",
            ),
            *(
                b"during GPU init",
                b"driver amdgpu failed",
                b"PCI rejects atomics",
                b"amdgpu: PSP load ",
                b"ip_init failed",
                b"Driver not initialized",
                b"SMI_STATUS_",
            ),
            *(b"Agent creation failed", b"hw_init of IP block"),
        ),
        "The GPUs cannot be used: check that the amdgpu driver is loaded and fits the ROCm of the image, that "
        "/dev/kfd and /dev/dri are passed in, and that the user is in the groups video and render.",
        (
            rb"Initializing the hsa runtime failed|hsa api call failure|initialize Tensile host"
            rb"|[Uu]nable to open /dev/kfd|[Cc]ould not open /dev/kfd|[Ff]ailed to open /dev/kfd"
            rb"|ROCk module is NOT loaded|Fatal error during GPU init|probe with driver amdgpu failed"
            rb"|PCI rejects atomics|amdgpu: PSP load \w{1,30} failed|amdgpu_device_ip_init failed"
            rb"|hw_init of IP block <\w{1,30}> failed|Driver not initialized \(amdgpu|\b(?:AMD"
            rb"|R)SMI_STATUS_(?!SUCCESS)[A-Z_]{1,40}|Agent creation failed\.|/dev/kfd['\"]?: (?:No such file"
            rb"|Invalid argument|Operation not permitted)"
        ),
    ),
    Signature(
        "no_gpu",
        (
            b"No HIP GPUs",
            b"error from hipGetDeviceCount",
            b"/dev/dri",
            b"call to hipInit",
            b"librocm reported version",
        ),
        "No GPU can be used in the container: check the driver, the devices passed in (/dev/kfd, /dev/dri) and "
        "HIP_VISIBLE_DEVICES.",
        (
            rb"error from hipGetDeviceCount|/dev/dri[^\r\n]{0,99}: Permission denied|No HIP GPUs are available"
            rb"|failed call to hipInit|librocm reported version is: NOT_FOUND"
        ),
    ),
    Signature(
        "out_of_memory",
        (b"HIP out of memory", b"HSA_STATUS_ERROR_OUT_OF_RESOURCES"),
        codes.OUT_OF_MEMORY,
        rb"HIP out of memory|HSA_STATUS_ERROR_OUT_OF_RESOURCES",
    ),
    Signature(
        "driver_mismatch",
        (b"initialization error", b"NotInitialized", b"KFD does not support", b"Incompatible kernel and userspace"),
        codes.DRIVER_MISMATCH,
        rb"HIP (?:[Ee]rror: |failure:? ')initialization error|\bhipErrorNotInitialized\b|KFD does not support"
        rb"|Incompatible kernel and userspace",
    ),
    Signature(
        "wrong_gpu_build",
        (
            *(b"code object for", b"for GPU arch", b"hipErrorSharedObjectInitFailed", b"ERROR_INVALID_ISA"),
            *(b"compatible with the device ISA", b"compatible code objects found for", b"find CO in the bundle"),
            *(b"Missing CO for these ISAs", b"TensileLibrary_lazy_gfx"),
        ),
        codes.WRONG_BUILD,
        rb"Unable to find code object for|Cannot read \S{1,300}TensileLibrary_lazy_gfx"
        rb"|TensileLibrary[^\r\n]{0,300} for GPU arch|hipErrorSharedObjectInitFailed"
        rb"|HSA_STATUS_ERROR_INVALID_ISA|ISA \S{1,99} is not compatible with the device ISA"
        rb"|No compatible code objects found for|Cannot find CO in the bundle|Missing CO for these ISAs",
    ),
    Signature(
        "compile",
        (
            *(b"HIPRTC_ERROR_", b"Code object build failed", b"MIOpen(HIP): Error [", b"COMGR_STATUS_ERROR"),
            b"[aiter] build [",
        ),
        "A kernel of a ROCm library could not be compiled on this node: look at the lines before; check that the "
        "image has the headers and device libraries of its own ROCm, and that its version knows this GPU.",
        rb"HIPRTC_ERROR_(?:COMPILATION|LINKING|BUILTIN_OPERATION_FAILURE)|Code object build failed"
        rb"|MIOpen\(HIP\): Error \[(?:Compile|Build)|COMGR_STATUS_ERROR|\[aiter\] build \[[^\r\n]{1,300} failed !",
    ),
    Signature(
        "settings_refused",
        (b"[AITER] ",),
        "A kernel of AITER cannot do this with these sizes, this precision or this GPU: the words after its file say "
        "what; change them, switch the kernel off, or take another image.",
        rb"\[AITER\] [^ \r\n]{1,300}\.(?:cu|cpp|cuh|h|hpp):\d{1,6} (?![^\r\n]{0,400}\[HIP error\])",
    ),
    Signature(
        "io_error",
        (b"accessing SQLite database",),
        "MIOpen cannot use its database of kernels: mostly it lies on a shared file system; set MIOPEN_USER_DB_PATH "
        "and MIOPEN_CUSTOM_CACHE_DIR to a disk of the node.",
        nearness=12,
    ),
    Signature(
        "gpu_error",
        (
            *(
                b"HIPBLAS_STATUS_",
                b"HIPBLASLT",
                b"hipblaslt",
                b"rocblaslt",
                b"rocBLAS error",
                b"ROCBLAS_STATUS",
                b"rocblas_status",
            ),
            *(b"MIOpen", b"miopenStatus", b"HIPFFT_", b"ROCFFT_STATUS_", b"suitable algorithm"),
        ),
        "A ROCm math library failed (hipBLASLt, rocBLAS, MIOpen): try another image or ROCm version, another size or "
        "precision; where one node alone has it, look at its GPU and kernel log.",
        (
            rb"\bHIPBLAS_STATUS_(?!SUCCESS)[A-Z_]{1,60}|(?i:hipblaslt error)|(?i:rocblaslt error)|rocBLAS error"
            rb"|(?i:rocblas_status_)(?!(?i:success))\w{1,60}|MIOpen(?:\(HIP\))?:? Error(?! \[(?:Compile|Build))"
            rb"|\bmiopenStatus(?!Success)\w{1,60}|\b(?:HIPFFT_|ROCFFT_STATUS_)(?!SUCCESS)[A-Z_]{1,60}"
            rb"|Unable to find any suitable algorithm"
        ),
    ),
    Signature(
        "gpu_error",
        (
            b"HSA_STATUS_ERROR",
            b"hip",
            b"does not support this problem",
            b"HIP error: ",
            b"HIP error (",
            b"HIP Error: ",
            b"HIP failure",
            b"hipError",
            b"HIP runtime error",
            b"[HIP]: ",
            b"HIP_ERROR_",
            *(b"inactivated due to async error", b"HSA exception: ", b"[HIP error]("),
        ),
        "A GPU kernel failed: run again with AMD_SERIALIZE_KERNEL=3 to see which one, and read the node's kernel log.",
        (
            rb"\bhip[A-Z]\w{1,40} failed : |does not support this problem|== hipSuccess|\bHSA_STATUS_ERROR\w{0,60}"
            rb"|HIP [Ee]rror: |HIP error \([^ \r\n]{1,300}:\d{1,6}\): |HIP failure:? "
            rb"|(?<!Search for `)\bhipError[A-Z]\w{1,60}(?:[ '\")(:.]|$)|inactivated due to async error|HSA exception: "
            rb"|HIP runtime error: |Triton Error \[HIP\]: |\[HIP error\]\(|\bHIP_ERROR_[A-Z]\w{1,40}"
        ),
    ),
    Signature(
        "gpu_hang",
        (b"amdgpu",),
        "The driver amdgpu could not do what it should, which mostly is a GPU that hung: drain the node, read its "
        "kernel log around this line, and reset the GPU.",
        rb"\[amdgpu\]\] \*ERROR\* |" + _DRIVER + rb"[^\r\n]{0,99}(?:\b[Ff]ailed to (?!load|find|parse)"
        rb"|\breset failed|unrecoverable"
        rb"|sq_intr: error"
        rb"|destroy queue \d{1,9} failed)",
    ),
)
