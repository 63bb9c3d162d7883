# SPDX-License-Identifier: GPL-3.0-or-later
"""What docker, podman, containerd and the OCI runtimes say."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "image_pull",
        (b"429 Too Many Requests", b"toomanyrequests", b"pull rate limit"),
        "The registry throttles: log in, take the image from a mirror, or load it on the nodes beforehand.",
        (
            rb"toomanyrequests: |pull rate limit|(?:[Ff]ailed to (?:pull|copy|resolve)|pinging container registry"
            rb"|reading manifest|initializing source)[^\r\n]{0,400}429 Too Many Requests"
        ),
    ),
    Signature(
        "image_pull",
        (
            *(b"copying system image", b"ing blob", b"copy from source", b"image configuration"),
            *(
                b"manifest unknown",
                b"manifest for ",
                b"reading manifest",
                b"pull access denied",
                b"requested access to the ",
            ),
            *(b"no basic auth", b"authentication required", b"initializing source", b"no matching manifest"),
            *(
                b"ailed to pull",
                b"ErrImagePull",
                b"ImagePullBackOff",
                b"nable to find image",
                b"did not resolve to an alias",
            ),
            *(
                b"rror pulling image",
                b"registry-1.docker.io",
                b"invalid reference format",
                b"repository does not exist",
                b"daemon: Get ",
                b"failed to resolve reference",
                *(
                    b"FATAL:   ",
                    b"InvalidImageName",
                    b"committing the finished",
                    b"processing tar file",
                    b"register layer",
                ),
            ),
        ),
        "The image cannot be pulled: check its name and tag, log in to the registry (docker login), check network, "
        "proxy and certificates, or load the image on the nodes beforehand.",
        (
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
            rb"|pulling)[^\r\n]{0,300}(?:unauthorized|denied|not found|manifest|timeout|registry)"
        ),
    ),
    Signature(
        "no_gpu",
        (
            b"gathering device information",
            b"stat /dev/",
            b"CDI",
            b"nvidia.com/",
            b"cdi-hook",
            b"could not select device driver",
        ),
        "The node lacks a device or what passes it in: load the GPU driver (modprobe amdgpu or nvidia; ls /dev/kfd "
        "/dev/dri), and for NVIDIA install the container toolkit.",
        (
            rb"error gathering device information while adding custom device|unresolvable CDI devices"
            rb"|Error: [^\r\n]{0,200}(?:CDI (?:host )?devices?|stat nvidia\.com/|nvidia-cdi-hook)"
            rb"|stat /dev/(?:kfd|dri|nvidia|neuron)\S{0,60}: no such file|could not select device driver"
        ),
    ),
    Signature(
        "driver_mismatch",
        (b"unsatisfied condition: ", b"driver/library version mismatch"),
        "The image and the node's GPU driver do not fit, or the driver was updated while it runs: reboot after "
        "an update, update the driver, or take an image for this one.",
        rb"requirement error: unsatisfied condition: |driver/library version mismatch",
    ),
    Signature(
        "no_gpu",
        (b"nvidia-container-cli",),
        "The NVIDIA container tools cannot use the driver: check nvidia-smi on the node, its driver modules and the "
        "container toolkit.",
        rb"nvidia-container-cli(?:\.real)?: (?:initialization|device|driver|ldcache|mount|detection) error",
    ),
    Signature(
        "container",
        (b"connect to the Docker daemon", b"connect to the docker API", b"connect to Podman", b".sock: connect: "),
        "The container engine cannot be used: check that it runs (systemctl status docker) and that the user may "
        "use it (group docker, or become).",
        (
            rb"(?:Cannot|permission denied while trying to) connect to the (?:Docker daemon|docker API)"
            rb"|[Ff]ailed to connect to the docker API|[Cc]annot connect to Podman|dial unix \S{1,99}\.sock: connect: "
        ),
    ),
    Signature(
        "container",
        (
            b"untime specified",
            b"untime name: ",
            b"no runtime binary found",
            b"find runc path",
            b"create NVIDIA Container Runtime",
        ),
        "The container engine does not have the runtime that is asked for: install the container toolkit, name it in "
        "/etc/docker/daemon.json (nvidia-ctk runtime configure), or do not ask for one.",
        rb"[Uu]nknown runtime specified|unknown or invalid runtime name: |no runtime binary found from candidate list"
        rb"|failed to create NVIDIA Container Runtime|nvidia-container-runtime: find runc path",
    ),
    Signature(
        "container",
        (b"is already in use by",),
        "A container of this name is there already: look whose it is, and remove it if it is left over.",
        rb"(?:Conflict\. The container )?name \S{1,200} is already in use by",
    ),
    Signature(
        "address_in_use",
        (b"port is already allocated",),
        "A port that the container publishes is taken on this node: stop what an earlier run left there, or choose "
        "another port.",
        rb"failed: port is already allocated",
    ),
    Signature(
        "container",
        (b"exec format error", b"Exec format error"),
        "The image or program is for another processor architecture than the node's.",
    ),
    Signature(
        "permission_denied",
        (b": permission denied",),
        "The container may not run its program: make it executable (chmod +x), and look whether its folder is mounted "
        "with noexec.",
        rb"\bexec: \\?\"[^\"\r\n]{1,300}\": permission denied",
    ),
    Signature(
        "not_found",
        (b"executable file ", b"bind source path does not exist", b"rror: statfs ", b": no such file or directory"),
        "A program of the launch or a folder to mount is not there: the image or the paths are not those that the plan "
        "expects.",
        rb"executable file [^\r\n]{0,200}not found in \$PATH|bind source path does not exist|Error: statfs "
        rb"|\bexec: \\?\"[^\"\r\n]{1,300}\": [^\r\n]{0,300}no such file or directory",
    ),
    Signature(
        "disk_full",
        (b"o space left on device",),
        "The disk of the container engine (or the registry cache) is full: free it (docker system df shows what is "
        "there), or give the engine a larger data folder.",
        rb"(?:failed to register layer|rror (?:committing the finished|processing tar)|[Ww]riting blob|[Rr]eading blob"
        rb"|copying layers|failed to extract|storing blob)[^\r\n]{0,400}[Nn]o space left on device",
    ),
    Signature(
        "container",
        (b"container creation failed",),
        "apptainer or singularity could not start the container: a folder to mount or a hook of it is missing on this "
        "node, which the message names.",
        rb"FATAL: {1,6}container creation failed: ",
    ),
    Signature(
        "container",
        (
            b"Error response from daemon: ",
            b"[ERROR] /",
            *(
                b"docker: ",
                b"FATAL:   ",
                b"ERROR  : ",
                b"ABORT  : ",
                b"FATA[",
                b"CreatePodSandBox",
            ),
            b"OCI ",
            b"Error: ",
            b"crun: ",
            b"runc",
        ),
        "The container engine refused to start the container: the message says which option, mount or device; "
        "compare it with the plan's container options.",
        (
            rb"\[ERROR\] /\S{1,200}hooks\.d/\S{1,60} exited with return code|(?m:^docker: (?=[a-z'\"]))"
            rb"|Error response from daemon: (?!No such )|OCI permission denied|(?m:^FATAL: {3,9}(?=\S))|(?m:^(?:ERROR"
            rb"|ABORT) {2}: )|FATA\[\d{1,9}\] |FailedCreatePodSandBox\b|(?m:^Error: (?=[a-z`'\"/])(?!no container"
            rb"|no such|inspecting)[^\r\n]{0,200}(?:container|namespace| mount|cgroup|rootless|newuidmap|storage| image"
            rb"|network|volume|seccomp|apparmor|health ?check|restart policy|conmon|userns|OCI ))|OCI runtime (?:create"
            rb"|start|exec)? ?(?:failed|error)|Error: (?:unknown (?:shorthand )?flag: |OCI runtime|crun: |runc: "
            rb"|preparing container |unable to start container |netavark)|Error: failed to (?:start|create|reserve"
            rb"|generate) container(?![^\r\n]{0,900}[Nn]o space left)|runc (?:create|run) failed: "
        ),
    ),
)
