# SPDX-License-Identifier: GPL-3.0-or-later
# Written by tools/write_docs.py from the models in plugins/plugin_utils/plan. Change those, then run it.
"""The options of a plan, for the modules that have them."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of a run, and those with which a training config is read."""

    DOCUMENTATION = r"""
options:
  platform:
    description: Train on hosts of the inventory, in any cloud or none (gce), or let Google's
      XPK start a workload on GKE (gke), as config.gke says.
    type: str
    choices:
      - gce
      - gke
    default: gce
  rehearsal:
    description: Run the plan with the embedded trainer in place of the real one, for a minute.
    type: bool
    default: false
  rank_order:
    description: All hosts of the run in rank order, where the inventory's order is not wanted.
      The first is rank 0.
    type: list
    elements: str
    default: []
  exclude:
    description: Hosts that are left out.
    type: list
    elements: str
    default: []
  master_port:
    description: Port on rank 0 where the nodes meet, in place of the framework's own.
    type: int
    default: null
  hf_token_file:
    description: File on the controller with the Hugging Face token, in place of the config's
      hf_token_file. A vaulted variable training_hf_token goes before it.
    type: str
    default: ''
  run_id:
    description: Name of the run. Without it, time, model and GPU make one.
    type: str
    default: ''
  spares:
    description: Group of the inventory whose hosts take no part until another host is in quarantine.
    type: str
    default: ''
  retries:
    description: 'How often a job over all nodes is tried again when it failed of a node: with
      a spare in its place, or else on fewer nodes. The node is in quarantine from then on.
      A fault of the config or of the model is not tried again, nor are the runs of a sweep.'
    type: int
    default: 0
  abort_on_nan:
    description: Stop the run on every node as soon as a step says that the loss is NaN or infinite,
      but for steps that were skipped. Of nodes that train apart from each other, only that
      one is followed no further.
    type: bool
    default: false
  keep_runs:
    description: How many ended runs keep their folders on a node, the last ones; 0 keeps all.
      Older folders of the same user are removed when a run is staged, with all that the trainer
      wrote there, such as checkpoints. The controller keeps its own records.
    type: int
    default: 0
  keep_days:
    description: With training_keep_runs, no folder goes of a run that ended in so many days.
    type: int
    default: 7
  on_interrupt:
    description: 'What the first Ctrl-C or SIGTERM does while the run is followed: leave the
      training to itself (detach), or stop it on every node and judge it (stop).'
    type: str
    choices:
      - detach
      - stop
    default: detach
  container_profile:
    description: Start containers with all privileges, as AMD's guide does, or with the named
      devices and no more capabilities than RDMA and GPUs need.
    type: str
    choices:
      - privileged
      - hardened
    default: privileged
  image_archive:
    description: Image as a file on the nodes, loaded where the image is missing instead of
      pulled.
    type: path
    default: ''
  launcher:
    description: 'What starts the ranks: Ansible''s own connections to the hosts of the inventory
      (ssh), one job of Slurm, submitted from the machine that runs Ansible (slurm), or a step
      of the allocation that Ansible runs in (srun).'
    type: str
    choices:
      - ssh
      - slurm
      - srun
    default: ssh
  slurm_job:
    description: Job of Slurm whose nodes are taken with training_launcher=srun; without it
      the one that SLURM_JOB_ID names.
    type: str
    default: ''
  slurm_nodes:
    description: Nodes of the job; 0 takes as many as the training config asks for.
    type: int
    default: 0
  slurm_partition:
    description: Partition of the job.
    type: str
    default: ''
  slurm_account:
    description: Account that is charged.
    type: str
    default: ''
  slurm_qos:
    description: Quality of service.
    type: str
    default: ''
  slurm_reservation:
    description: Reservation whose nodes are taken.
    type: str
    default: ''
  slurm_time_limit:
    description: When Slurm ends the job; without it the partition's limit holds.
    type: str
    default: ''
  slurm_exclusive:
    description: Share the nodes with no other job.
    type: bool
    default: true
  slurm_constraint:
    description: Features that the nodes must have.
    type: str
    default: ''
  slurm_exclude:
    description: Nodes that are left out.
    type: str
    default: ''
  slurm_gres:
    description: Generic resources of each node, where the cluster counts GPUs.
    type: str
    default: ''
  slurm_pyxis:
    description: Let Pyxis hold the training where container_engine is auto. It does so anyway
      where srun, on the machine that runs Ansible, has --container-image.
    type: bool
    default: false
  slurm_preflight:
    description: Do the preflight on the nodes of the job before their ranks start, and end
      the job where it is red.
    type: bool
    default: true
  slurm_options:
    description: Further options of sbatch, one per line of the script, as the site asks for
      them.
    type: list
    elements: str
    default: []
  nxdt_root:
    description: Folder with NxDT's training_orchestrator.py, in place of the config's trainops.nxdt_root.
    type: path
    default: ''
  maxtext_root:
    description: MaxText checkout, in place of that of the image (/workspace/maxtext).
    type: path
    default: ''
  maxtext_entry_point:
    description: The script of the checkout, or the module, that trains. By default the image's
      tag decides.
    type: str
    default: ''
  maxtext_python:
    description: Python that runs MaxText, in place of python3.
    type: path
    default: ''
  megatron_root:
    description: Megatron-LM checkout, in place of the config's megatron_root.
    type: path
    default: ''
  megatron_release:
    description: Release of ROCm's Megatron-LM images whose scripts train, for example v25.5.
      By default the image's tag decides.
    type: str
    default: ''
"""

    CONFIG = r"""
options:
  framework:
    description: Framework of the training config; auto finds it out from the file.
    type: str
    choices:
      - auto
      - megatron
      - maxtext
      - nxdt
    default: auto
  mode:
    description: One job over all nodes (multi_node), one on each (single_node), or what the
      config offers (auto).
    type: str
    choices:
      - auto
      - single_node
      - multi_node
    default: auto
  model:
    description: Model of the config's model_params; where it has just one, none need be named.
    type: str
    default: ''
  gpu:
    description: GPU of the model's branch; MI300X, mi300x and mi300 mean the same. Where it
      has just one, none need be named.
    type: str
    default: ''
  gpus_per_node:
    description: GPUs of each node that take part.
    type: int
    default: 8
  unknown_keys:
    description: Whether an unknown key of the config stops the run or is only a warning.
    type: str
    choices:
      - fault
      - warn
    default: fault
  record_only:
    description: Judge no thresholds; those of the config need not be filled in then. A run
      without any is only recorded as well, with a warning.
    type: bool
    default: false
  max_skipped:
    description: How many iterations may be skipped after the warm-up, but for those that search
      a loss scale.
    type: int
    default: 0
  scale_batch:
    description: Take the global batch size as it is (none), or as tuned for the config's number
      of nodes and scale it to those at hand (reference_nodes); these may be another number
      then.
    type: str
    choices:
      - none
      - reference_nodes
    default: none
  thresholds:
    description: File with thresholds, such as a *_threshold.json of AMD CVS, in place of those
      of the config. Of its cells the one for the run is taken.
    type: str
    default: ''
  overrides:
    description: 'Values in place of the config''s, by the paths of their keys: {"batch_size":
      256, "config.training_iterations": 50}. In a CVS config a path begins at a section, or
      with a key of config or of the branch; in any other config it begins at the top.'
    type: dict
    default: {}
  container_engine:
    description: What holds the training on a node; auto takes the one that is there. apptainer
      is for jobs of Slurm.
    type: str
    choices:
      - auto
      - docker
      - podman
      - apptainer
      - none
    default: auto
"""
