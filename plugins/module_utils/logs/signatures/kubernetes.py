# SPDX-License-Identifier: GPL-3.0-or-later
"""What Kubernetes says: events and conditions of pods, jobs and nodes, autoscalers, Kueue, JobSet and Volcano."""

from __future__ import annotations

from ..signature import BLAME, Signature

# A job that was taken away is the cause of what its processes say as they go, and a node that was, of its silence.
_TAKEN_AWAY = BLAME["access_denied"] - 1
_NODE_TAKEN_AWAY = BLAME["node_failure"] - 1

SIGNATURES = (
    Signature(
        "preempted",
        (
            *(b"Preempted by ", b"preempting to accommodate", b"Preempted to accommodate", b"to admit critical pod"),
            b"because of preempt",
        ),
        "Kubernetes took the node for a pod of higher priority: go on from a checkpoint, or give the job a priority "
        "class that is not preempted.",
        rb"\bPreempted by (?:a pod|pod \S{1,99}|\S{1,99}/\S{1,99}) on node |preempting to accommodate a higher priority"
        rb"|Preempted to accommodate a workload|Preempted in order to admit critical pod"
        rb"|evicted, because of preempt",
        nearness=_TAKEN_AWAY,
    ),
    Signature(
        "preempted",
        (
            *(b"imminent node shutdown", b"pot interruption warning", b"for node scale down", b"Evicted pod: "),
            *(b"Eviction API: evicting", b"NodeShutdown", b"nstance was preempted by ", b"compute.instances.preempted"),
        ),
        "The node was taken away: a spot machine was reclaimed, an autoscaler removed it, or somebody drained it: go "
        "on from a checkpoint, on nodes that stay.",
        nearness=_NODE_TAKEN_AWAY,
    ),
    Signature(
        "node_failure",
        (
            *(b"is now: NodeNotReady", b"Node is not ready", b"stopped posting node status", b"PodGC: node not found"),
            *(b"PodGC: node no longer exists", b"due to NoExecute taint", b"has been rebooted, boot id"),
            *(b"no replacement for a failed node", b"PLEG is not healthy"),
        ),
        "Kubernetes lost the node: look at its kubelet, console and kernel log, drain it, and go on from a checkpoint "
        "on others.",
    ),
    Signature(
        "no_gpu",
        (b"Allocate failed due to ", b"plugin PreStartContainer", b"UnexpectedAdmissionError"),
        "The node has fewer healthy devices than the pod asks for: look at its device plugin and its driver, and drain "
        "it until it has all of them.",
        rb"Allocate failed due to (?:requested number of devices unavailable for |no healthy devices present"
        rb"|can't allocate unregistered device)|device plugin PreStartContainer rpc failed"
        rb"|\bUnexpectedAdmissionError\b",
    ),
    Signature(
        "slurm_start",
        (b"Exceeded the PodsReady timeout",),
        "Not all pods of the job got ready in time: look for one that is pending or fails as it starts (kubectl "
        "describe), or raise the time in Kueue's waitForPodsReady.",
    ),
    Signature(
        "slurm_start",
        (
            *(
                b"nodes are available: ",
                b"didn't have enough resource: ",
                b"with Topology locality",
                b"exceeded quota: ",
            ),
            *(b"t trigger scale-up", b"Failed to schedule pod, ", b"t assign flavors to pod set", b"Queue "),
            *(b"gang unschedulable", b"pod group is not ready", b"quota insufficient"),
            *(b"failed admission checks", b"admission check is false", b"Max nodepool size reached", b"OutOf"),
            *(b"FailedScheduling", b"has unbound immediate "),
        ),
        "Kubernetes has no place for the pod: the message says what is missing, nodes, devices or quota of a queue; "
        "free some, or ask for less.",
        rb"\d{1,9}/\d{1,9} nodes are available: |Node didn't have enough resource: "
        rb"|cannot be allocated with Topology locality| is forbidden: exceeded quota: |pod didn't trigger scale-up"
        rb"|\bFailedScheduling\b|Failed to schedule pod, |pod has unbound immediate "
        rb"|couldn't assign flavors to pod set |\b(?:Local|Cluster)Queue \S{1,99} (?:doesn't exist|is (?:inactive"
        rb"|stopped))|workload has failed admission checks|least one admission check is false"
        rb"|Max nodepool size reached|\bOutOf(?:cpu|memory|pods|ephemeral-storage|[\w.-]{1,40}/[\w-]{1,40})\b"
        rb"|tasks in gang unschedulable|\bpod group is not ready|queue resource quota insufficient",
    ),
    Signature(
        "time_limit",
        (b"active longer than", b"active on the node longer than"),
        "Kubernetes ended the job at its time limit: raise activeDeadlineSeconds, or go on from a checkpoint.",
        rb"active (?:on the node )?longer than (?:the )?specified deadline",
    ),
    Signature(
        "disk_full",
        (
            *(b"low on resource: ephemeral-storage", b"low on resource: inodes", b"[DiskPressure]"),
            *(b"FreeDiskSpaceFailed", b'to reclaim" resourceName="ephemeral-storage"'),
        ),
        "The node ran out of disk and ended the pod: let caches and checkpoints go elsewhere, or ask for more storage.",
    ),
    Signature(
        "disk_full",
        (b"phemeral local storage usage exceeds", b"local ephemeral storage limit", b"Usage of EmptyDir volume "),
        "The pod used more disk than it may: raise its ephemeral-storage or the sizeLimit of the volume, or let caches "
        "and checkpoints go elsewhere.",
        rb"Pod ephemeral local storage usage exceeds|exceeded its local ephemeral storage limit"
        rb"|Usage of EmptyDir volume \S{1,99} exceeds",
    ),
    Signature(
        "killed",
        (
            *(b"low on resource: memory", b"[MemoryPressure]", b"System OOM encountered"),
            b'to reclaim" resourceName="memory"',
        ),
        "The node ran out of memory and ended the pod: ask for more memory, use fewer data workers or a smaller cache.",
    ),
    Signature(
        "process_limit",
        (b"low on resource: pids", b"[PIDPressure]"),
        "The node ran out of process numbers and ended the pod: use fewer data workers and threads, or raise the "
        "kubelet's podPidsLimit.",
    ),
    Signature(
        "image_pull",
        (b"ErrImageNeverPull", b"Failed to apply default image tag"),
        "The pod's image is not on the node and may not be pulled, or its name is wrong: load it there, or correct "
        "image and imagePullPolicy.",
    ),
    Signature(
        "not_found",
        (b"rror: secret ", b"rror: configmap ", b"find key "),
        "A secret or config map that the pod asks for is not in its namespace: create it, or correct its name.",
        rb"Error: (?:secret|configmap) \S{1,300} not found|couldn't find key \S{1,99} in (?:Secret|ConfigMap)",
    ),
    Signature(
        "access_denied",
        (b"Volume.",),
        "The storage does not let the pod in: give its service account, or the node, the right to use the volume.",
        rb"(?:Mount|Attach)Volume\.\w{1,20} failed [^\r\n]{0,600}(?:PermissionDenied|Unauthenticated|AccessDenied"
        rb"|[Aa]ccess denied|Error 40[13]\b)",
    ),
    Signature(
        "container",
        (b"Volume.", b"FailedMount", b"FailedAttachVolume", b"Multi-Attach error", b"ProvisioningFailed"),
        "A volume of the pod cannot be made or mounted: look at the events of its claim, at the CSI driver on the node "
        "and at the file server.",
        rb"(?:Mount|Attach)Volume\.\w{1,20} failed|\bFailed(?:Mount|AttachVolume)\b|Multi-Attach error for volume"
        rb"|\bProvisioningFailed\b",
    ),
    Signature(
        "container",
        (b"Liveness probe failed", b"Startup probe failed", b"iveness probe, will be restarted"),
        "The kubelet restarts the container, as a probe failed: give the probe more time, or leave it out of a "
        "training.",
    ),
    Signature(
        "settings_refused",
        (b"denied the request", b"no matches for kind ", b"violates PodSecurity", b"failed calling webhook"),
        "Kubernetes does not take the manifest: the message says which field; correct it, or install what knows its "
        "kind (JobSet, Kueue).",
        rb"admission webhook \S{1,200} denied the request|no matches for kind |violates PodSecurity"
        rb"|failed calling webhook",
    ),
    Signature(
        "not_found",
        (b"getting credentials: exec: executable ",),
        "kubectl does not find the program that gets its credentials: install what the message names (for GKE "
        "gke-gcloud-auth-plugin).",
    ),
    Signature(
        "container",
        (b"The connection to the server ", b"nable to connect to the server: "),
        "The API server of Kubernetes does not answer: check the context (kubectl config current-context), the network "
        "to it and the control plane.",
        rb"The connection to the server \S{1,200} was refused|Unable to connect to the server: ",
    ),
    Signature(
        "scheduler",
        (b"EvictedDueToDeactivated",),
        "Kueue put the job out of its queue: somebody deactivated it, or it was tried again too often; its events say "
        "which (kubectl describe workload).",
    ),
    Signature(
        "killed",
        (b"OOMKilled", b"container init was OOM-killed"),
        "The container exceeded its memory limit and was killed: give it more, use fewer data workers or a smaller "
        "cache.",
    ),
    Signature(
        "container",
        (b"Evicted", b"ContainerStatusUnknown"),
        "The pod was put off its node, or the node does not answer: kubectl describe pod says why.",
        rb"\b\d{1,3}/\d{1,3} {1,20}(?:Evicted|ContainerStatusUnknown)\b",
    ),
    Signature(
        "container",
        (b"CreateContainer", b"RunContainerError"),
        "The pod's container did not start: its events say why (kubectl describe pod).",
        rb"\b(?:CreateContainer(?:Config)?|RunContainer)Error\b",
        nearness=BLAME["python_error"],
    ),
    Signature(
        "child_failed",
        (
            b"specified backoff limit",
            b"BackoffLimitExceeded",
            b"jobset failed due to",
            b"restarting failed container",
            b"CrashLoopBackOff",
        ),
        "A pod of the job failed: what its log says is the cause (kubectl logs --previous).",
        nearness=BLAME["training_script"],
    ),
)
