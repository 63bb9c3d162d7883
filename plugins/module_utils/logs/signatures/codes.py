# SPDX-License-Identifier: GPL-3.0-or-later
"""The error codes of GPUs, from any program: CUDA's and HIP's (cudaError_t, CUresult, hipError_t) and NVIDIA's Xids.

A code shows by its name, such as cudaErrorNoDevice or CUDA_ERROR_NO_DEVICE, or by the text of cudaGetErrorString.
"""

from __future__ import annotations

import typing as t

from ..failure_classes import BLAME
from ..signature import Signature

_PREFIXES = (b"cudaError", b"hipError", b"CUDA_ERROR_", b"HIP_ERROR_")
_LABEL = (
    rb"(?:\b(?:CUDA|Cuda|cuda|HIP|hip) ?(?:driver |runtime |RT )?(?:[Ee]rror|failure|call)\b[^\r\n]{0,160}[ :'\"(]"
    rb"|\[(?:CUDA|HIP)\]: [^\r\n]{0,30}|GPUassert: )"
)
XID = rb"\b(?:Xid|XID)(?: \([^)\r\n]{1,60}\):)?(?: (?:error|code|event|number))?[ :=]{1,3}"

FELL_OUT = (
    "The GPU fell off the PCIe bus, or its NVLink or firmware failed. Drain the node, check power, PCIe and NVLink, "
    "and reboot it; replace the GPU if it fails again."
)
ASSERT = (
    "A kernel got an index that is out of range, usually a token outside the vocabulary. Compare tokenizer, data and "
    "vocabulary size; CUDA_LAUNCH_BLOCKING=1 (AMD_SERIALIZE_KERNEL=3) shows the call."
)

COMPILE = (
    "A kernel could not be compiled for this GPU. Try another image, disable torch.compile or the fused kernel, or "
    "build the extension in the image."
)


def _words(texts: t.Iterable[bytes]) -> bytes:
    return b"(?:" + b"|".join(texts) + b")"


def _code(
    failure: str,
    remedy: str | None,
    names: tuple[bytes, ...],
    sayings: tuple[bytes, ...] = (),
    common: tuple[bytes, ...] = (),
    xids: bytes = b"",
    **others: t.Any,
) -> Signature:
    """Return the signature of some codes: their names, their descriptions, and descriptions that other codes share."""
    parts = [rb"(?<!Search for `)\b" + _words(_PREFIXES) + _words(names) + rb"\b"] if names else []
    parts += sayings
    parts += [_LABEL + _words(common)] if common else []
    parts += [XID + _words(xids.split()) + rb"\b"] if xids else []
    return Signature(failure, remedy, b"|".join(parts), **others)


SIGNATURES = (
    Signature(
        "host_memory",
        "The host ran out of memory to pin for the GPUs or TPUs. Offload less to the host, use fewer data workers, or "
        "give the container more memory and a higher memlock limit.",
        rb"failed to alloc \d{1,20} bytes on host: |(?:RESOURCE_EXHAUSTED|INTERNAL): [^\r\n]{0,200}bytes of (?:host"
        rb"|pinned) memory|NVRM: failed to allocate ",
        more_specific_than=("status INTERNAL",),
        sample="NVRM: failed to allocate vmap() page descriptor table!",
    ),
    Signature(
        "child_failed",
        "The GPU cleaned up after a process that ended or was stopped (Xid 45). Look for the cause in that process's "
        "output or in the Xid before this one.",
        # If the line mentions an Xid before it, that Xid is the cause.
        XID + rb"45\b(?![^\r\n]{0,300}previous Xid (?!45\b))",
        more_specific_than=("any CUDA error",),
        sample="[ 12.1] NVRM: Xid (PCI:0000:05:00): 45, pid=77, name=python3, Ch 00000007",
    ),
    _code(
        "gpu_ecc",
        None,
        (b"ECCUncorrectable", b"ECC_UNCORRECTABLE", b"ECCNotCorrectable"),
        (b"uncorrectable ECC error",),
        xids=b"48 63 64 92 94 95 140 156 157 160 161 171 172",
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="[ 12.1] NVRM: Xid (PCI:0000:05:00): 160, odd",
    ),
    _code(
        "gpu_error",
        FELL_OUT,
        (b"NvlinkUncorrectable", b"NVLINK_UNCORRECTABLE", b"Contained", b"CONTAINED"),
        (b"uncorrectable NVLink error", b"Invalid access of peer GPU memory"),
        xids=b"54 61 62 74 79 109 110 119 120 121 122 123 136 137 142 143 144 145 146 147 148 149 150 154 155 158 166"
        b" 167",
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or odd",
    ),
    _code(
        "driver_mismatch",
        None,
        (
            *(b"InsufficientDriver", b"SystemDriverMismatch", b"SYSTEM_DRIVER_MISMATCH", b"SystemNotReady"),
            *(b"SYSTEM_NOT_READY", b"CompatNotSupportedOnDevice", b"COMPAT_NOT_SUPPORTED_ON_DEVICE", b"StubLibrary"),
            *(b"STUB_LIBRARY", b"UnsupportedPtxVersion", b"UNSUPPORTED_PTX_VERSION", b"CallRequiresNewerDriver"),
        ),
        (
            *(b"driver version is insufficient", b"forward compatibility was attempted on non supported"),
            *(b"unsupported display driver", b"unsupported toolchain", b"driver is a stub library"),
            b"not supported in the installed CUDA driver",
        ),
        (b"system not yet initialized",),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample=("CUDA initialization: Error 803: system has unsupported display driver / cuda driver combination"),
    ),
    _code(
        "no_gpu",
        "No GPU is usable. Check the driver on the node (nvidia-smi, amd-smi), the devices passed in, "
        "CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES, and whether another process, or MPS, uses the GPUs.",
        (
            *(b"NoDevice", b"NO_DEVICE", b"DevicesUnavailable", b"DEVICE_UNAVAILABLE"),
            *(rb"Mps[A-Z]\w{1,40}", rb"MPS_[A-Z_]{1,40}"),
        ),
        (
            *(b"no CUDA-capable device", b"no ROCm-capable device is detected", b"is/are busy or unavailable"),
            *(b"MPS client failed to connect", b"MPS server is not ready"),
        ),
        more_specific_than=(
            "any CUDA error",
            "no AMD GPU in the container",
            "any HIP error",
        ),
        sample="E rocm_driver.cc:1] failed call to hipInit: HIP_ERROR_NoDevice",
    ),
    _code(
        "wrong_rank",
        "A rank asks for a GPU that it cannot see. Check processes per node, the local ranks, and "
        "CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES.",
        (b"InvalidDevice", b"INVALID_DEVICE"),
        (b"invalid device ordinal",),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="RuntimeError: HIP error: invalid device ordinal",
    ),
    Signature(
        "stale_process",
        "Another process uses much of this GPU's memory. Stop leftover processes (nvidia-smi, amd-smi process), and "
        "check that each rank has its own GPU.",
        rb"Process \d{1,9} has (?:[2-9]|[1-9]\d{1,3})\.\d\d GiB memory in use\. (?:Process \d{1,9} has (?:[2-9]"
        rb"|[1-9]\d{1,3})\.|Including non-PyTorch memory, this process has )",
        nearness=BLAME["out_of_memory"],
        more_specific_than=("memory of a CUDA library",),
        sample=(
            "CUDA out of memory. Process 7 has 38.44 GiB memory in use. Process 8 has 39.54 GiB memory in use. Of odd"
        ),
    ),
    _code(
        "out_of_memory",
        None,
        (b"MemoryAllocation", b"OUT_OF_MEMORY", b"OutOfMemory"),
        common=(b"out of memory",),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="RuntimeError: HIP error: out of memory",
    ),
    _code(
        "wrong_gpu_build",
        None,
        (
            *(b"NoKernelImageForDevice", b"NO_BINARY_FOR_GPU", b"NoBinaryForGpu", b"InvalidDeviceFunction"),
            *(b"InvalidKernelImage", b"INVALID_IMAGE", b"InvalidImage"),
        ),
        (
            *(b"no kernel image is available", b"invalid device function", b"device kernel image is invalid"),
            b"invalid kernel file",
        ),
        (b"named symbol not found",),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="RuntimeError: HIP error: invalid device function",
    ),
    _code(
        "sizes",
        ASSERT,
        (b"Assert", b"ASSERT"),
        (b"device-side assert triggered",),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="RuntimeError: CUDA error: device-side assert triggered",
    ),
    _code(
        "compile",
        "A kernel could not be compiled at run time because the container lacks the driver's PTX compiler "
        "(libnvidia-ptxjitcompiler). Check the mounts of the NVIDIA container toolkit.",
        (b"JitCompilerNotFound", b"JIT_COMPILER_NOT_FOUND"),
        (b"PTX JIT compiler library not found",),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="hipErrorJitCompilerNotFound",
    ),
    _code(
        "compile",
        COMPILE,
        (b"InvalidPtx", b"INVALID_PTX", b"JitCompilationDisabled", b"JIT_COMPILATION_DISABLED"),
        (b"PTX JIT compilation",),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="RuntimeError: CUDA error: a PTX JIT compilation failed",
    ),
    _code(
        "settings_refused",
        "A CUDA graph cannot contain these operations. Disable CUDA graphs in the trainer or in torch.compile, or do "
        "not synchronize with the GPU, log or allocate during capture.",
        (rb"StreamCapture[A-Z]\w{1,30}", rb"STREAM_CAPTURE_[A-Z_]{1,30}", b"CapturedEvent", b"CAPTURED_EVENT"),
        (
            *(b"when stream is capturing", b"previous error during capture", b"on a capturing blocking stream"),
            *(b"on uncaptured work", b"capture was not ended in the same stream", b"capture sequence"),
        ),
        more_specific_than=(
            "any CUDA error",
            "any HIP error",
        ),
        sample="RuntimeError: CUDA error: operation not permitted when stream is capturing",
    ),
)
