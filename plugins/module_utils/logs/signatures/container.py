# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of docker, podman, containerd and the OCI runtimes."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "image_pull",
        "The registry is rate-limiting pulls. Log in, pull from a mirror, or load the image on the nodes beforehand.",
        rb"toomanyrequests: |pull rate limit|(?:[Ff]ailed to (?:pull|copy|resolve)|pinging container registry"
        rb"|reading manifest|initializing source)[^\r\n]{0,400}429 Too Many Requests",
        more_specific_than=(
            "image pull",
            "rate limit of the hub",
        ),
        sample=('Failed to pull image "x": rpc error: code = Unknown desc = failed to copy: 429 Too Many Requests'),
    ),
    Signature(
        "image_pull",
        None,
        rb"manifest unknown|manifest for \S{1,300} not found|reading manifest [^\r\n]{0,300}: |pull access denied"
        rb"|requested access to the (?:resource|requested resource) is (?:denied|not authorized)"
        rb"|no basic auth credentials|unauthorized: authentication required"
        rb"|[Ee]rror[^\r\n]{0,99} initializing source |no matching manifest for "
        rb"|[Ff]ailed to pull (?:and unpack )?image(?![^\r\n]{0,900}[Nn]o space left)|\bErrImagePull\b"
        rb"|\bImagePullBackOff\b|did not resolve to an alias|[Ee]rror pulling image"
        rb"|registry-1\.docker\.io[^\r\n]{0,300}(?:timeout|timed out|no such host|refused|canceled)"
        rb"|[Dd]ocker: invalid reference format|Error: [^\r\n]{0,200}nable to find image"
        rb"|repository does not exist or may|Error response from daemon: Get \"?https?://"
        rb"|failed to resolve reference|\bInvalidImageName\b|(?:rror (?:committing the finished image"
        rb"|processing tar file)|failed to register layer: |Error: [^\r\n]{0,99}(?:copying system image"
        rb"|reading blob|fetching blob|unable to copy from source"
        rb"|parsing image configuration))(?![^\r\n]{0,400}[Nn]o space left)|FATAL:   While (?:making image"
        rb"|pulling)[^\r\n]{0,300}(?:unauthorized|denied|not found|manifest|timeout|registry)",
        name="image pull",
        more_specific_than=("any container engine",),
        sample=("docker: Error response from daemon: manifest for rocm/x:7 not found: manifest unknown"),
    ),
    Signature(
        "container",
        "NVIDIA's hook ran as the container was made, and failed. Write the CDI specification again (nvidia-ctk cdi "
        "generate --output=/etc/cdi/nvidia.yaml), as after each update of the driver, and run the hook by hand.",
        rb"error (?:executing|running) hook [^\r\n]{0,200}nvidia-(?:cdi-hook|ctk|container)[^\r\n]{0,99}exit",
        more_specific_than=("any device of a container", "any container engine", "any exit code"),
        sample="Error: unable to start container odd: crun: error executing hook `/odd/nvidia-cdi-hook` (exit code: 7)",
    ),
    Signature(
        "no_gpu",
        "The node lacks a device, or the tool that passes it in. Load the GPU driver (modprobe amdgpu or nvidia; ls "
        "/dev/kfd /dev/dri); for NVIDIA, install the container toolkit.",
        rb"error gathering device information while adding custom device|unresolvable CDI devices"
        rb"|Error: [^\r\n]{0,200}(?:CDI (?:host )?devices?|stat nvidia\.com/|nvidia-cdi-hook)"
        rb"|stat /dev/(?:kfd|dri|nvidia|neuron)\S{0,60}: no such file|could not select device driver",
        name="any device of a container",
        sample="Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
    ),
    Signature(
        "driver_mismatch",
        "The image and the node's GPU driver do not match, or the driver was updated while loaded. Reboot after an "
        "update, update the driver, or use an image for this driver.",
        rb"requirement error: unsatisfied condition: |driver/library version mismatch",
        sample="nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4",
    ),
    Signature(
        "no_gpu",
        "The NVIDIA container tools cannot use the driver. Check nvidia-smi on the node, the driver's modules and the "
        "container toolkit.",
        rb"nvidia-container-cli(?:\.real)?: (?:initialization|device|driver|ldcache|mount|detection) error",
        sample="nvidia-container-cli: mount error",
    ),
    Signature(
        "container",
        "The container engine is unusable. Check that it is running (systemctl status docker) and that the user has "
        "access to it (group docker, or become).",
        rb"(?:Cannot|permission denied while trying to) connect to the (?:Docker daemon|docker API)"
        rb"|[Ff]ailed to connect to the docker API|[Cc]annot connect to Podman|dial unix \S{1,99}\.sock: connect: ",
        sample="dial unix /run/odd/odd.sock: connect: connection refused",
    ),
    Signature(
        "container",
        "The container engine does not have the requested runtime. Install the container toolkit and register it in "
        "/etc/docker/daemon.json (nvidia-ctk runtime configure), or do not request a runtime.",
        rb"[Uu]nknown runtime specified|unknown or invalid runtime name: |no runtime binary found from candidate list"
        rb"|failed to create NVIDIA Container Runtime|nvidia-container-runtime: find runc path",
        more_specific_than=("any container engine",),
        sample="docker: Error response from daemon: unknown or invalid runtime name: nvidia",
    ),
    Signature(
        "container",
        "A container with this name already exists. Find out whose it is, and remove it if it is left over.",
        rb"(?:Conflict\. The container )?name \S{1,200} is already in use by",
        more_specific_than=("any container engine",),
        sample=(
            'docker: Error response from daemon: Conflict. The container name "/x" is already in use by container 0a.'
        ),
    ),
    Signature(
        "address_in_use",
        "A port that the container publishes is in use on this node. Stop the leftovers of an earlier run, or choose "
        "another port.",
        rb"failed: port is already allocated",
        sample="failed: port is already allocated",
    ),
    Signature(
        "container",
        "The image or program was built for another CPU architecture. Use one built for this node's.",
        rb"exec format error|Exec format error",
        sample="exec /usr/bin/python: exec format error",
    ),
    Signature(
        "permission_denied",
        "The container is not allowed to run its program. Make it executable (chmod +x), and check whether its folder "
        "is mounted noexec.",
        rb"\bexec: \\?\"[^\"\r\n]{1,300}\": permission denied",
        more_specific_than=("any container engine",),
        sample='runc create failed: odd: exec: "/deps/train.sh": permission denied: unknown',
    ),
    Signature(
        "not_found",
        "A program to launch or a folder to mount is missing. Compare the image and the paths with the plan.",
        rb"executable file [^\r\n]{0,200}not found in \$PATH|bind source path does not exist|Error: statfs "
        rb"|\bexec: \\?\"[^\"\r\n]{1,300}\": [^\r\n]{0,300}no such file or directory",
        more_specific_than=("any container engine",),
        sample='OCI runtime exec failed: exec: "bash": executable file not found in $PATH: unknown',
    ),
    Signature(
        "disk_full",
        "The disk of the container engine (or the registry cache) is full. Free space (docker system df shows what "
        "uses it), or give the engine a larger data folder.",
        rb"(?:failed to register layer|rror (?:committing the finished|processing tar)|[Ww]riting blob|[Rr]eading blob"
        rb"|copying layers|failed to extract|storing blob)[^\r\n]{0,400}[Nn]o space left on device",
        more_specific_than=(
            "any container engine",
            "any full disk",
        ),
        sample="docker: failed to register layer: write /opt/x: no space left on device.",
    ),
    Signature(
        "container",
        "apptainer or singularity could not start the container. Provide the folder to mount or the hook that the "
        "message names; it is missing on this node.",
        rb"FATAL: {1,6}container creation failed: ",
        more_specific_than=("any container engine",),
        sample="FATAL:   container creation failed: mount /x->/y error: no such file",
    ),
    Signature(
        "container",
        "The container engine refused to start the container. The message shows the option, mount or device; compare "
        "it with the plan's container options.",
        rb"\[ERROR\] /\S{1,200}hooks\.d/\S{1,60} exited with return code|(?m:^docker: (?=[a-z'\"]))"
        rb"|Error response from daemon: (?!No such )|OCI permission denied|(?m:^FATAL: {3,9}(?=\S)"
        rb"|^ERROR  : |^ABORT  : )|FATA\[\d{1,9}\] |FailedCreatePodSandBox\b|(?m:^Error: (?=[a-z`'\"/])(?!no container"
        rb"|no such|inspecting)[^\r\n]{0,200}(?:container|namespace| mount|cgroup|rootless|newuidmap|storage| image"
        rb"|network|volume|seccomp|apparmor|health ?check|restart policy|conmon|userns|OCI ))|OCI runtime (?:create"
        rb"|start|exec)? ?(?:failed|error)|Error: (?:unknown (?:shorthand )?flag: |OCI runtime|crun: |runc: "
        rb"|preparing container |unable to start container |netavark)|Error: failed to (?:start|create|reserve"
        rb"|generate) container(?![^\r\n]{0,900}[Nn]o space left)|runc (?:create|run) failed: ",
        name="any container engine",
        more_specific_than=(
            "NCCL's settings",
            "missing program of the launch",
        ),
        sample='Error: "odd" is not a valid restart policy',
    ),
)
