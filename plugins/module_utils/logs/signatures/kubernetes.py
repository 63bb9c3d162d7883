# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of Kubernetes: events and conditions of pods, jobs and nodes, autoscalers, Kueue, JobSet and Volcano."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

# A job that was taken away causes the last messages of its processes, and a node that was taken away causes its own
# silence.
_TAKEN_AWAY = BLAME["access_denied"] - 1
_NODE_TAKEN_AWAY = BLAME["node_failure"] - 1

SIGNATURES = (
    Signature(
        "preempted",
        "Kubernetes preempted the pod for one of higher priority. Resume from a checkpoint, or give the job a "
        "priority class that is not preempted.",
        rb"\bPreempted by (?:a pod|pod \S{1,99}|\S{1,99}/\S{1,99}) on node |preempting to accommodate a higher priority"
        rb"|Preempted to accommodate a workload|Preempted in order to admit critical pod"
        rb"|evicted, because of preempt",
        nearness=_TAKEN_AWAY,
        sample="Normal  Preempted  pod/worker-3  Preempted by a pod on node n7",
    ),
    Signature(
        "preempted",
        "The node was taken away: a spot machine was reclaimed, an autoscaler removed it, or somebody drained it. "
        "Resume from a checkpoint, on nodes that stay.",
        rb"imminent node shutdown|pot interruption warning|for node scale down|Evicted pod: |Eviction API: evicting"
        rb"|NodeShutdown|nstance was preempted by |compute\.instances\.preempted",
        nearness=_NODE_TAKEN_AWAY,
        sample="train-odd-0  0/1  NodeShutdown  0  7m",
    ),
    Signature(
        "node_failure",
        "Kubernetes lost the node. Check its kubelet, console and kernel log, drain it, and resume from a checkpoint "
        "on other nodes.",
        rb"is now: NodeNotReady|Node is not ready|stopped posting node status|PodGC: node not found"
        rb"|PodGC: node no longer exists|due to NoExecute taint|has been rebooted, boot id"
        rb"|no replacement for a failed node|PLEG is not healthy",
        sample="Warning  Rebooted  kubelet  Node n7 has been rebooted, boot id: 7",
    ),
    Signature(
        "no_gpu",
        "The node has fewer healthy devices than the pod requests. Check its device plugin and its driver, and drain "
        "it until it has all of them.",
        rb"Allocate failed due to (?:requested number of devices unavailable for |no healthy devices present"
        rb"|can't allocate unregistered device)|device plugin PreStartContainer rpc failed"
        rb"|\bUnexpectedAdmissionError\b",
        sample="train-odd-0  0/1  UnexpectedAdmissionError  0  7m",
    ),
    Signature(
        "slurm_start",
        "Not all pods of the job were ready in time. Look for one that is pending or fails to start (kubectl "
        "describe), or raise the timeout in Kueue's waitForPodsReady.",
        rb"Exceeded the PodsReady timeout",
        sample=("Normal  EvictedDueToPodsReadyTimeout  kueue-admission  Exceeded the PodsReady timeout ns/odd"),
    ),
    Signature(
        "slurm_start",
        "Kubernetes cannot place the pod. The message says whether nodes, devices or queue quota are missing; free "
        "some, or request less.",
        rb"\d{1,9}/\d{1,9} nodes are available: |Node didn't have enough resource: "
        rb"|cannot be allocated with Topology locality| is forbidden: exceeded quota: |pod didn't trigger scale-up"
        rb"|\bFailedScheduling\b|Failed to schedule pod, |pod has unbound immediate "
        rb"|couldn't assign flavors to pod set |\b(?:Local|Cluster)Queue \S{1,99} (?:doesn't exist|is (?:inactive"
        rb"|stopped))|workload has failed admission checks|least one admission check is false"
        rb"|Max nodepool size reached|\bOutOf(?:cpu|memory|pods|ephemeral-storage|[\w.-]{1,40}/[\w-]{1,40})\b"
        rb"|tasks in gang unschedulable|\bpod group is not ready|queue resource quota insufficient",
        sample="train-odd-0  0/1  OutOfodd.com/gpu  0  7m",
    ),
    Signature(
        "time_limit",
        "Kubernetes ended the job at its time limit. Raise activeDeadlineSeconds, or resume from a checkpoint.",
        rb"active (?:on the node )?longer than (?:the )?specified deadline",
        sample=("Warning  DeadlineExceeded  job-controller  Job was active longer than specified deadline"),
    ),
    Signature(
        "disk_full",
        "The node ran out of disk space and evicted the pod. Put caches and checkpoints elsewhere, or request more "
        "storage.",
        rb"low on resource: ephemeral-storage|low on resource: inodes|\[DiskPressure\]|FreeDiskSpaceFailed"
        rb'|to reclaim" resourceName="ephemeral-storage"',
        sample="Warning  Evicted  kubelet  The node had condition: [DiskPressure].",
    ),
    Signature(
        "disk_full",
        "The pod exceeded its disk limit. Raise its ephemeral-storage or the volume's sizeLimit, or put caches and "
        "checkpoints elsewhere.",
        rb"Pod ephemeral local storage usage exceeds|exceeded its local ephemeral storage limit"
        rb"|Usage of EmptyDir volume \S{1,99} exceeds",
        sample='Warning  Evicted  kubelet  Usage of EmptyDir volume "odd" exceeds the limit "7Gi".',
    ),
    Signature(
        "host_memory",
        "The node ran out of memory and evicted the pod. Request more memory, or use fewer data workers or a smaller "
        "cache.",
        rb'low on resource: memory|\[MemoryPressure\]|System OOM encountered|to reclaim" resourceName="memory"',
        sample="Warning  Evicted  kubelet  The node had condition: [MemoryPressure].",
    ),
    Signature(
        "process_limit",
        "The node ran out of process IDs and evicted the pod. Use fewer data workers and threads, or raise the "
        "kubelet's podPidsLimit.",
        rb"low on resource: pids|\[PIDPressure\]",
        sample="Warning  Evicted  kubelet  The node was low on resource: pids. Threshold quantity: 7",
    ),
    Signature(
        "image_pull",
        "The pod's image is not on the node and its pull policy forbids pulling it, or its name is wrong. Load it "
        "there, or correct image and imagePullPolicy.",
        rb"ErrImageNeverPull|Failed to apply default image tag",
        sample=(
            'Warning  ErrImageNeverPull  kubelet  Container image "odd:7" is not present with pull policy of Never'
        ),
    ),
    Signature(
        "not_found",
        "A secret or config map that the pod requests is not in its namespace. Create it, or correct its name.",
        rb"Error: (?:secret|configmap) \S{1,300} not found|couldn't find key \S{1,99} in (?:Secret|ConfigMap)",
        sample='Warning  Failed  kubelet  Error: secret "odd" not found',
    ),
    Signature(
        "access_denied",
        "The storage denies the pod access. Give its service account, or the node, permission to use the volume.",
        rb"(?:Mount|Attach)Volume\.\w{1,20} failed [^\r\n]{0,600}(?:PermissionDenied|Unauthenticated|AccessDenied"
        rb"|[Aa]ccess denied|Error 40[13]\b)",
        more_specific_than=("volume of a pod",),
        sample=(
            'Warning  FailedMount  pod/w-0  MountVolume.SetUp failed for volume "d" : rpc error: '
            "code = PermissionDenied"
        ),
    ),
    Signature(
        "container",
        "A volume of the pod cannot be created or mounted. Check the events of its claim, the CSI driver on the node "
        "and the file server.",
        rb"(?:Mount|Attach)Volume\.\w{1,20} failed|\bFailed(?:Mount|AttachVolume)\b|Multi-Attach error for volume"
        rb"|\bProvisioningFailed\b",
        name="volume of a pod",
        sample=('Warning  FailedAttachVolume  Multi-Attach error for volume "odd" Volume is already used'),
    ),
    Signature(
        "container",
        "The kubelet restarted the container because a probe failed. Give the probe more time, or remove it from "
        "training jobs.",
        rb"Liveness probe failed|Startup probe failed|iveness probe, will be restarted",
        sample=(
            'Warning  Unhealthy  kubelet  Liveness probe failed: Get "http://1.2.3.4:7/odd": context deadline exceeded'
        ),
    ),
    Signature(
        "settings_refused",
        "Kubernetes rejects the manifest. Correct the field that the message names, or install what provides its kind "
        "(JobSet, Kueue).",
        rb"admission webhook \S{1,200} denied the request|no matches for kind |violates PodSecurity"
        rb"|failed calling webhook",
        sample='error: no matches for kind "JobSet" in version "odd/v1"',
    ),
    Signature(
        "not_found",
        "kubectl cannot find its credential plugin. Install the program that the message names (for GKE, "
        "gke-gcloud-auth-plugin).",
        rb"getting credentials: exec: executable ",
        more_specific_than=("Kubernetes API",),
        sample=(
            "Unable to connect to the server: getting credentials: exec: executable gke-gcloud-auth-plugin not found"
        ),
    ),
    Signature(
        "container",
        "The Kubernetes API server does not answer. Check the context (kubectl config current-context), the network "
        "to the server and the control plane.",
        rb"The connection to the server \S{1,200} was refused|Unable to connect to the server: ",
        name="Kubernetes API",
        sample=("The connection to the server 1.2.3.4:7 was refused - did you specify the right host or port?"),
    ),
    Signature(
        "scheduler",
        "Kueue evicted the job because somebody deactivated it or it was retried too often. Read its events (kubectl "
        "describe workload).",
        rb"EvictedDueToDeactivated",
        sample="Normal  EvictedDueToDeactivated  kueue  The workload is deactivated",
    ),
    Signature(
        "host_memory",
        "The container exceeded its memory limit and was killed. Raise the limit, or use fewer data workers or a "
        "smaller cache.",
        rb"OOMKilled|container init was OOM-killed",
        more_specific_than=("any container engine",),
        sample=("runc create failed: unable to start odd: container init was OOM-killed (memory limit too low?)"),
    ),
    Signature(
        "container",
        "The pod was evicted from its node, or the node does not answer. Read its events (kubectl describe pod).",
        rb"\b\d{1,3}/\d{1,3} {1,20}(?:Evicted|ContainerStatusUnknown)\b",
        sample="train-odd-0  0/1  Evicted  0  7m",
    ),
    Signature(
        "container",
        "The pod's container did not start. Read its events (kubectl describe pod).",
        rb"\b(?:CreateContainer(?:Config)?|RunContainer)Error\b",
        nearness=BLAME["python_error"],
        sample="train-odd-0  0/1  RunContainerError  0  7m",
    ),
    Signature(
        "child_failed",
        "A pod of the job failed. Look for the cause in its log (kubectl logs --previous).",
        rb"specified backoff limit|BackoffLimitExceeded|jobset failed due to|restarting failed container"
        rb"|CrashLoopBackOff",
        nearness=BLAME["training_script"],
        sample="Warning  BackOff  kubelet  Back-off restarting failed container odd in pod odd-0",
    ),
)
