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
        "Kubernetes took the node for a pod of higher priority: go on from a checkpoint, or give the job a priority "
        "class that is not preempted.",
        rb"\bPreempted by (?:a pod|pod \S{1,99}|\S{1,99}/\S{1,99}) on node |preempting to accommodate a higher priority"
        rb"|Preempted to accommodate a workload|Preempted in order to admit critical pod"
        rb"|evicted, because of preempt",
        nearness=_TAKEN_AWAY,
    ),
    Signature(
        "preempted",
        "The node was taken away: a spot machine was reclaimed, an autoscaler removed it, or somebody drained it: go "
        "on from a checkpoint, on nodes that stay.",
        rb"imminent node shutdown|pot interruption warning|for node scale down|Evicted pod: |Eviction API: evicting"
        rb"|NodeShutdown|nstance was preempted by |compute\.instances\.preempted",
        nearness=_NODE_TAKEN_AWAY,
    ),
    Signature(
        "node_failure",
        "Kubernetes lost the node: look at its kubelet, console and kernel log, drain it, and go on from a checkpoint "
        "on others.",
        rb"is now: NodeNotReady|Node is not ready|stopped posting node status|PodGC: node not found"
        rb"|PodGC: node no longer exists|due to NoExecute taint|has been rebooted, boot id"
        rb"|no replacement for a failed node|PLEG is not healthy",
    ),
    Signature(
        "no_gpu",
        "The node has fewer healthy devices than the pod asks for: look at its device plugin and its driver, and drain "
        "it until it has all of them.",
        rb"Allocate failed due to (?:requested number of devices unavailable for |no healthy devices present"
        rb"|can't allocate unregistered device)|device plugin PreStartContainer rpc failed"
        rb"|\bUnexpectedAdmissionError\b",
    ),
    Signature(
        "slurm_start",
        "Not all pods of the job got ready in time: look for one that is pending or fails as it starts (kubectl "
        "describe), or raise the time in Kueue's waitForPodsReady.",
        rb"Exceeded the PodsReady timeout",
    ),
    Signature(
        "slurm_start",
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
        "Kubernetes ended the job at its time limit: raise activeDeadlineSeconds, or go on from a checkpoint.",
        rb"active (?:on the node )?longer than (?:the )?specified deadline",
    ),
    Signature(
        "disk_full",
        "The node ran out of disk and ended the pod: let caches and checkpoints go elsewhere, or ask for more storage.",
        rb"low on resource: ephemeral-storage|low on resource: inodes|\[DiskPressure\]|FreeDiskSpaceFailed"
        rb'|to reclaim" resourceName="ephemeral-storage"',
    ),
    Signature(
        "disk_full",
        "The pod used more disk than it may: raise its ephemeral-storage or the sizeLimit of the volume, or let caches "
        "and checkpoints go elsewhere.",
        rb"Pod ephemeral local storage usage exceeds|exceeded its local ephemeral storage limit"
        rb"|Usage of EmptyDir volume \S{1,99} exceeds",
    ),
    Signature(
        "killed",
        "The node ran out of memory and ended the pod: ask for more memory, use fewer data workers or a smaller cache.",
        rb'low on resource: memory|\[MemoryPressure\]|System OOM encountered|to reclaim" resourceName="memory"',
    ),
    Signature(
        "process_limit",
        "The node ran out of process numbers and ended the pod: use fewer data workers and threads, or raise the "
        "kubelet's podPidsLimit.",
        rb"low on resource: pids|\[PIDPressure\]",
    ),
    Signature(
        "image_pull",
        "The pod's image is not on the node and may not be pulled, or its name is wrong: load it there, or correct "
        "image and imagePullPolicy.",
        rb"ErrImageNeverPull|Failed to apply default image tag",
    ),
    Signature(
        "not_found",
        "A secret or config map that the pod asks for is not in its namespace: create it, or correct its name.",
        rb"Error: (?:secret|configmap) \S{1,300} not found|couldn't find key \S{1,99} in (?:Secret|ConfigMap)",
    ),
    Signature(
        "access_denied",
        "The storage does not let the pod in: give its service account, or the node, the right to use the volume.",
        rb"(?:Mount|Attach)Volume\.\w{1,20} failed [^\r\n]{0,600}(?:PermissionDenied|Unauthenticated|AccessDenied"
        rb"|[Aa]ccess denied|Error 40[13]\b)",
    ),
    Signature(
        "container",
        "A volume of the pod cannot be made or mounted: look at the events of its claim, at the CSI driver on the node "
        "and at the file server.",
        rb"(?:Mount|Attach)Volume\.\w{1,20} failed|\bFailed(?:Mount|AttachVolume)\b|Multi-Attach error for volume"
        rb"|\bProvisioningFailed\b",
    ),
    Signature(
        "container",
        "The kubelet restarts the container, as a probe failed: give the probe more time, or leave it out of a "
        "training.",
        rb"Liveness probe failed|Startup probe failed|iveness probe, will be restarted",
    ),
    Signature(
        "settings_refused",
        "Kubernetes does not take the manifest: the message says which field; correct it, or install what knows its "
        "kind (JobSet, Kueue).",
        rb"admission webhook \S{1,200} denied the request|no matches for kind |violates PodSecurity"
        rb"|failed calling webhook",
    ),
    Signature(
        "not_found",
        "kubectl does not find the program that gets its credentials: install what the message names (for GKE "
        "gke-gcloud-auth-plugin).",
        rb"getting credentials: exec: executable ",
    ),
    Signature(
        "container",
        "The API server of Kubernetes does not answer: check the context (kubectl config current-context), the network "
        "to it and the control plane.",
        rb"The connection to the server \S{1,200} was refused|Unable to connect to the server: ",
    ),
    Signature(
        "scheduler",
        "Kueue put the job out of its queue: somebody deactivated it, or it was tried again too often; its events say "
        "which (kubectl describe workload).",
        rb"EvictedDueToDeactivated",
    ),
    Signature(
        "killed",
        "The container exceeded its memory limit and was killed: give it more, use fewer data workers or a smaller "
        "cache.",
        rb"OOMKilled|container init was OOM-killed",
    ),
    Signature(
        "container",
        "The pod was put off its node, or the node does not answer: kubectl describe pod says why.",
        rb"\b\d{1,3}/\d{1,3} {1,20}(?:Evicted|ContainerStatusUnknown)\b",
    ),
    Signature(
        "container",
        "The pod's container did not start: its events say why (kubectl describe pod).",
        rb"\b(?:CreateContainer(?:Config)?|RunContainer)Error\b",
        nearness=BLAME["python_error"],
    ),
    Signature(
        "child_failed",
        "A pod of the job failed: what its log says is the cause (kubectl logs --previous).",
        rb"specified backoff limit|BackoffLimitExceeded|jobset failed due to|restarting failed container"
        rb"|CrashLoopBackOff",
        nearness=BLAME["training_script"],
    ),
)
