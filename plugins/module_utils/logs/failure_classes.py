# SPDX-License-Identifier: GPL-3.0-or-later
"""The classes of failures, a row each: how near one is to the cause, and the remedy.

The smaller the number, the nearer a class is to the cause, no matter which is printed first: fault of the GPU or the
host 1x, out of memory 2x, NaN and Neuron's general errors 3x, the program and its settings 4x, the network and the
scheduler 5x. From 60 on a class is an echo: it follows from a failure elsewhere, so the logs of healthy nodes contain
it too.
"""

from __future__ import annotations

import typing as t

FIRST_ECHO = 60


class FailureClass(t.NamedTuple):
    """A class of failures. A signature of the class has its ``remedy``, unless it has one of its own."""

    blame: int
    remedy: str


CLASSES = {
    "gpu_hang": FailureClass(
        10,
        "The amdgpu driver reports an error, usually because a GPU hung. Drain the node, read its kernel log around "
        "this line, and reset the GPU.",
    ),
    "gpu_memory_fault": FailureClass(
        10,
        "A kernel accessed memory that it does not own. If other nodes run the same software without errors, "
        "suspect the GPU (kernel log, RAS counters); otherwise, suspect the container image.",
    ),
    "gpu_ecc": FailureClass(
        10,
        "A GPU on this node has uncorrectable memory errors. Drain the node, read its ECC counters (nvidia-smi -q, "
        "amd-smi metric --ecc) and the kernel log, and reset the GPU; replace it if the errors return.",
    ),
    "node_failure": FailureClass(
        11,
        "The hardware or the kernel of this node failed. Drain the node, and read its kernel log, BMC event log and "
        "ECC counters.",
    ),
    "no_gpu": FailureClass(
        12,
        "The program sees no accelerator. Check the driver, the devices passed in, and that no variable hides them.",
    ),
    "driver_mismatch": FailureClass(
        12,
        "The image's CUDA or ROCm and the node's driver do not match, or NVIDIA's Fabric Manager is not running. "
        "Update or reload the driver (reboot after an update), start nvidia-fabricmanager, or use an image for this "
        "driver.",
    ),
    "wrong_gpu_build": FailureClass(
        12,
        "The software was not built for this GPU's architecture. Use an image for this GPU (TORCH_CUDA_ARCH_LIST "
        "and PYTORCH_ROCM_ARCH list the architectures of a build).",
    ),
    "gpu_error": FailureClass(
        13,
        "The GPU or one of its libraries failed. Read the message, the lines before it and this node's kernel log, "
        "and compare with another node.",
    ),
    "host_memory": FailureClass(
        14,
        "The host ran out of memory. Use fewer data workers or a smaller cache, or give the container more memory.",
    ),
    "killed": FailureClass(
        14,
        "A process was killed with SIGKILL, usually by the kernel because host memory ran out. Read its node's "
        "kernel log.",
    ),
    "disk_full": FailureClass(
        18,
        "A disk on this node is full, or a quota is used up. Free space, or put logs, caches and checkpoints "
        "elsewhere.",
    ),
    "io_error": FailureClass(
        18,
        "A disk, a file system or its server failed. Read the kernel log; check the mount (findmnt), the disk and "
        "the file server.",
    ),
    "out_of_memory": FailureClass(
        20,
        "The GPU ran out of memory. Lower the micro batch size, recompute activations or increase model "
        "parallelism; check (nvidia-smi, amd-smi) whether another process uses GPU memory.",
    ),
    "nan": FailureClass(
        30,
        "The loss or the gradients became NaN or infinite. Check data, precision and learning rate; if only one "
        "rank has it, check its GPU.",
    ),
    "neuron": FailureClass(
        31,
        "The Neuron runtime or a NeuronCore failed. Read the kernel log, check the device's health (neuron-top, "
        "neuron-monitor), and check that runtime, driver and compiler are from one release.",
    ),
    "access_denied": FailureClass(
        40,
        "A service or a file denies access. Give this node a token or credentials for the resource in the message.",
    ),
    "checkpoint": FailureClass(
        40,
        "A checkpoint could not be read or written. Read the message; check the checkpoint's folder, that it is "
        "complete, and that its format and sizes match this run.",
    ),
    "collective_mismatch": FailureClass(
        40,
        "The ranks called different collectives or sizes, usually because settings, data or code differ between "
        "nodes. Compare them, and set TORCH_DISTRIBUTED_DEBUG=DETAIL to see the call.",
    ),
    "compile": FailureClass(
        40,
        "A kernel or graph could not be compiled. Try another image, or disable torch.compile or the fused kernel.",
    ),
    "container": FailureClass(
        40,
        "The container engine or its tools failed. The line says where; look for a mount, path, hook or image that "
        "is missing on this node.",
    ),
    "data": FailureClass(
        40,
        "The training data could not be read or prepared. Read the message; check paths, mounts, columns and format "
        "of the dataset on each node.",
    ),
    "data_cache": FailureClass(
        40,
        "The dataset is not in this node's cache, and the hub cannot be reached. Fetch it beforehand, or use a "
        "cache that the nodes share (HF_HOME, HF_DATASETS_CACHE).",
    ),
    "data_corrupt": FailureClass(
        40,
        "A file is truncated or damaged. Copy or fetch it again, and check whether the disk is full.",
    ),
    "duplicate_gpu": FailureClass(
        40,
        "Two ranks use the same GPU. Check processes per node, the local rank that selects each process's "
        "GPU, and HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES.",
    ),
    "hub_rate_limit": FailureClass(
        40,
        "Hugging Face is rate-limiting requests. Set a token (HF_TOKEN), wait and retry, or use a local copy or a "
        "cache that the nodes share (HF_HOME, HF_HUB_OFFLINE=1).",
    ),
    "hub_unreachable": FailureClass(
        40,
        "A download failed. Check network, proxy and token, or use a local copy or a cache that the nodes share.",
    ),
    "image_pull": FailureClass(
        40,
        "The image cannot be pulled. Check its name and tag, log in to the registry (docker login), check network, "
        "proxy and certificates, or load the image on the nodes beforehand.",
    ),
    "import_error": FailureClass(
        40,
        "Packages in the image do not match or are missing. Install the packages in the message, or use another image.",
    ),
    "jax_start": FailureClass(
        40,
        "JAX could not get the number of processes and the address of the first one from Slurm, MPI, Kubernetes or "
        "the cloud. Provide the missing part, or set the coordinator's address and the process "
        "numbers by hand.",
    ),
    "not_found": FailureClass(
        40,
        "This node does not have the file in the message. Check the path and the mounts, and that every node sees it.",
    ),
    "open_files": FailureClass(
        40,
        "A process reached its limit on open files. Raise it (ulimit -n, --ulimit nofile), or use fewer data workers.",
    ),
    "permission_denied": FailureClass(
        40,
        "The training is denied access to a file or folder. Check its owner and mode for the container's user, and "
        "root_squash on NFS.",
    ),
    "process_limit": FailureClass(
        40,
        "The limit on processes or threads is reached. Raise it (ulimit -u, --pids-limit=-1), or use fewer data "
        "workers and OMP_NUM_THREADS=1.",
    ),
    "settings_refused": FailureClass(
        40,
        "The program rejects its settings. Correct the one that the message names, or use an image that supports it.",
    ),
    "sizes": FailureClass(
        40,
        "The sizes do not match. Compare the model's sizes, the sequence and batch size and the parallel sizes with "
        "those in the message.",
    ),
    "slurm_start": FailureClass(
        40,
        "Slurm did not start the job's tasks. Read the message; check account, partition, node state (sinfo -R), "
        "and that the working folder and the program are on every node.",
    ),
    "tokenizer": FailureClass(
        40,
        "The tokenizer could not be created. Check its type, name and files, and that they match the installed "
        "version.",
    ),
    "wrong_rank": FailureClass(
        40,
        "Two processes have the same rank. Compare the node ranks and the number of nodes, and stop processes left "
        "over from an earlier run.",
    ),
    "xla_flags": FailureClass(
        40,
        "XLA rejects a flag. Check that this jaxlib supports it, put TPU flags in LIBTPU_INIT_ARGS, and begin each "
        "flag with --.",
    ),
    "address_in_use": FailureClass(
        41,
        "Another process is using the port. Stop the leftovers of an earlier run, or choose another master port.",
    ),
    "bus_error": FailureClass(
        42,
        "A process got SIGBUS, usually because the container's shared memory (/dev/shm) is too small or a mapped "
        "file was truncated. Enlarge --shm-size, and check the file.",
    ),
    "illegal_instruction": FailureClass(
        42,
        "A program or library was built for another CPU. Use one built for this node's.",
    ),
    "segmentation_fault": FailureClass(
        42,
        "A process crashed in native code, usually because libraries in the image do not match each other or the "
        "driver.",
    ),
    "name_resolution": FailureClass(
        43,
        "This node cannot resolve a name. Check DNS, /etc/hosts and the name itself.",
    ),
    "network_interface": FailureClass(
        43,
        "This node has no such network interface, or it has no address. Set NCCL_SOCKET_IFNAME and "
        "GLOO_SOCKET_IFNAME to the interface's name on this node (gloo accepts one name, no list and no ^).",
    ),
    "python_error": FailureClass(
        44,
        "The trainer raised an exception. Read the traceback before this line.",
    ),
    "memlock": FailureClass(
        48,
        "RDMA cannot lock enough memory. Raise the limit in the container and on the node (--ulimit memlock=-1, "
        "ulimit -l unlimited; under Slurm, slurmd's limit).",
    ),
    "rdma_abi_mismatch": FailureClass(
        48,
        "The RDMA library in the container is older than the host's driver. Mount the host's library into the "
        "container.",
    ),
    "rdma_devices": FailureClass(
        48,
        "The program sees no RDMA device, or not the one it was given. Compare the name with ibv_devices in the "
        "container, and pass in /dev/infiniband.",
    ),
    "gloo": FailureClass(
        50,
        "The ranks cannot reach each other over gloo. Set GLOO_SOCKET_IFNAME to the cluster network's interface, "
        "and look for a rank that did not start.",
    ),
    "rendezvous_timeout": FailureClass(
        54,
        "The processes did not find each other. Look for a node that did not start or failed earlier, then check "
        "master address, port and firewall.",
    ),
    "stale_process": FailureClass(
        54,
        "A process from an earlier start still takes part. Stop leftover processes on all nodes, then start again.",
    ),
    "nccl": FailureClass(
        56,
        "The network between the GPUs failed or could not be set up. Read the message, run again with "
        "NCCL_DEBUG=INFO, and compare with a node that works.",
    ),
    "preempted": FailureClass(
        58,
        "The machine or job was preempted. Resume from a checkpoint, or use capacity that is not preempted.",
    ),
    "time_limit": FailureClass(
        58,
        "The scheduler ended the job at its time limit. Request more time (--time), or resume from a checkpoint; if "
        "the steps had stopped earlier, the log before this line has the cause.",
    ),
    "scheduler": FailureClass(
        59,
        "Slurm reports an error. Read the text that follows; check the job (scontrol show job), the nodes (sinfo "
        "-R) and slurmd's log.",
    ),
    "watchdog": FailureClass(
        60,
        "A collective or barrier timed out. Find the rank that did not arrive; its log has the cause.",
    ),
    "elastic": FailureClass(
        62,
        "torchrun reports the rank that failed first on this node. Look for the cause in that rank's earlier output.",
    ),
    "child_failed": FailureClass(
        64,
        "A program that the training runs ended with an error. Look for the cause in its earlier output.",
    ),
    "training_script": FailureClass(
        66,
        "The launch script reports that the trainer failed. Look for the cause in the trainer's earlier output.",
    ),
    "coordinator_died": FailureClass(
        70,
        "The coordinator, which is the first process, went away. Check its log for the cause.",
    ),
    "peer_died": FailureClass(
        70,
        "Another process went away. Look for the cause in its log or its earlier output.",
    ),
    "sigterm": FailureClass(
        80,
        "The process was told to stop by the launcher (because another process failed), by a person or by the "
        "scheduler.",
    ),
    "unnamed": FailureClass(
        98,
        "Read this line and those around it: no known failure looks like this, but the training ended here.",
    ),
}

BLAME = {name: row.blame for name, row in CLASSES.items()}
