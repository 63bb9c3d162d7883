# SPDX-License-Identifier: GPL-3.0-or-later
# Written by tools/write_docs.py from the models in plugins/plugin_utils/plan. Change those, then run it.
"""The options of a plan, for the modules that have them."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of a run, and options for reading a training config."""

    DOCUMENTATION = r"""
options:
  platform:
    description: Train on inventory hosts, in any cloud or on premises (gce), or have Google's
      XPK start a workload on GKE (gke), as config.gke describes.
    type: str
    choices:
      - gce
      - gke
    default: gce
  rehearsal:
    description: Run the plan for a minute, with the embedded trainer in place of the real one.
    type: bool
    default: false
  rank_order:
    description: All hosts of the run in rank order, to override the inventory's order. The
      first is rank 0.
    type: list
    elements: str
    default: []
  exclude:
    description: Hosts to leave out of the run.
    type: list
    elements: str
    default: []
  master_port:
    description: Rendezvous port on rank 0, in place of the framework's default.
    type: int
    default: null
  hf_token_file:
    description: File on the controller with the Hugging Face token, in place of the config's
      hf_token_file. A vaulted variable training_hf_token takes precedence.
    type: str
    default: ''
  run_id:
    description: Name of the run; by default made of time, model and GPU.
    type: str
    default: ''
  spares:
    description: Inventory group of spare hosts, which train only in place of a quarantined
      host.
    type: str
    default: ''
  retries:
    description: 'How many times a job over all nodes is retried after a node failure: with
      a spare in the node''s place, or else on fewer nodes. The failed node is quarantined.
      Failures of the config or the model are not retried, nor are the runs of a sweep.'
    type: int
    default: 0
  abort_on_nan:
    description: Stop the run on every node as soon as a step reports a NaN or infinite loss;
      skipped steps do not count. In single-node mode only that node is no longer followed.
    type: bool
    default: false
  require_gpu:
    description: Refuse a node that certainly has no accelerator, or another GPU model than
      the plan is for, before it trains. false trains on it anyway.
    type: bool
    default: true
  keep_runs:
    description: How many of the latest ended runs keep their folders on a node; 0 keeps all.
      Staging a run removes the same user's older folders with everything the trainer wrote
      there, such as checkpoints. The controller keeps its own records.
    type: int
    default: 0
  keep_days:
    description: training_keep_runs removes no folder of a run that ended within this many days.
    type: int
    default: 7
  on_interrupt:
    description: 'What the first Ctrl-C or SIGTERM does while the run is followed: leave the
      training running (detach), or stop it on every node and judge the run (stop).'
    type: str
    choices:
      - detach
      - stop
    default: detach
  container_profile:
    description: 'Start containers privileged, as AMD''s guide does, or hardened: with only
      the named devices and the capabilities that RDMA and GPUs need.'
    type: str
    choices:
      - privileged
      - hardened
    default: privileged
  image:
    description: Container image, for a training config that sets none.
    type: str
    default: null
  image_archive:
    description: Image archive on the nodes, loaded instead of pulling the image where it is
      missing.
    type: path
    default: ''
  launcher:
    description: 'What starts the ranks: Ansible''s own connections to the inventory hosts (ssh),
      a Slurm job submitted from the machine that runs Ansible (slurm), or a step in the allocation
      that Ansible runs in (srun).'
    type: str
    choices:
      - ssh
      - slurm
      - srun
    default: ssh
  slurm_job:
    description: Slurm job whose nodes training_launcher=srun uses; by default the one in SLURM_JOB_ID.
    type: str
    default: ''
  slurm_nodes:
    description: Number of nodes; 0 uses the number in the training config.
    type: int
    default: 0
  slurm_partition:
    description: Partition of the job.
    type: str
    default: ''
  slurm_account:
    description: Account to charge.
    type: str
    default: ''
  slurm_qos:
    description: Quality of service.
    type: str
    default: ''
  slurm_reservation:
    description: Reservation to use.
    type: str
    default: ''
  slurm_time_limit:
    description: Time limit of the job; by default the partition's.
    type: str
    default: ''
  slurm_exclusive:
    description: Do not share the nodes with other jobs.
    type: bool
    default: true
  slurm_constraint:
    description: Features that the nodes must have.
    type: str
    default: ''
  slurm_exclude:
    description: Nodes to leave out.
    type: str
    default: ''
  slurm_gres:
    description: Generic resources per node, if the cluster counts GPUs as such.
    type: str
    default: ''
  slurm_pyxis:
    description: Run the training in Pyxis when container_engine is auto. That is the default
      if srun, on the machine that runs Ansible, has --container-image.
    type: bool
    default: false
  slurm_preflight:
    description: Run the preflight on the nodes of the job before the ranks start, and end the
      job if it is red.
    type: bool
    default: true
  slurm_options:
    description: Further sbatch options that the site requires, one per line of the script.
    type: list
    elements: str
    default: []
  torchtitan_root:
    description: Folder to start TorchTitan in; overrides trainops.torchtitan_root in the config.
    type: path
    default: ''
  torchtitan_python:
    description: Python that has TorchTitan; overrides trainops.python in the config.
    type: path
    default: ''
  megatron_bridge_root:
    description: Folder of Megatron Bridge with scripts/training/run_recipe.py, in the container
      or on the nodes; overrides trainops.bridge_root in the config.
    type: path
    default: ''
  megatron_bridge_python:
    description: Python that has Megatron Bridge; overrides trainops.python in the config.
    type: path
    default: ''
  primus_root:
    description: Folder of Primus with runner/primus-cli, in the container or on the nodes;
      overrides trainops.primus_root in the config.
    type: path
    default: ''
  primus_checkout:
    description: Checkout of Primus on the controller; its presets supply values that the config
      leaves out. By default the one that the config is in.
    type: path
    default: ''
  nxdt_root:
    description: Folder with NxDT's training_orchestrator.py; overrides trainops.nxdt_root in
      the config.
    type: path
    default: ''
  maxtext_root:
    description: MaxText checkout, in place of the image's (/workspace/maxtext).
    type: path
    default: ''
  maxtext_entry_point:
    description: Training script in the checkout, or module. By default the image's tag decides.
    type: str
    default: ''
  maxtext_python:
    description: Python that runs MaxText, instead of python3.
    type: path
    default: ''
  megatron_root:
    description: Megatron-LM checkout to use instead of the config's megatron_root.
    type: path
    default: ''
  megatron_release:
    description: Release of ROCm's Megatron-LM images that the training scripts come from, for
      example v25.5. By default the image's tag decides.
    type: str
    default: ''
"""

    CONFIG = r"""
options:
  framework:
    description: Framework of the training config; auto detects it from the file.
    type: str
    choices:
      - auto
      - megatron
      - maxtext
      - nxdt
      - primus
      - megatron_bridge
      - torchtitan
    default: auto
  trainer:
    description: What trains, and how it is started; auto chooses it by the config. The plan
      says which one, and why.
    type: str
    choices:
      - auto
      - rocm_scripts
      - maxtext
      - nxdt
      - primus_cli
      - megatron_bridge
      - torchtitan
    default: auto
  log_grammar:
    description: How the lines of the training log are read; auto means the lines that the trainer
      writes.
    type: str
    choices:
      - auto
      - megatron
      - megatron_bridge
      - maxtext
      - nemo2
      - neuronx_distributed
      - nxdt
      - torchtitan
    default: auto
  mode:
    description: One job across all nodes (multi_node), one on each node (single_node), or what
      the config offers (auto).
    type: str
    choices:
      - auto
      - single_node
      - multi_node
    default: auto
  model:
    description: Model in the config's model_params; optional where there is only one.
    type: str
    default: ''
  gpu:
    description: GPU of the model's branch; MI300X, mi300x and mi300 mean the same. Optional
      where there is only one.
    type: str
    default: ''
  gpus_per_node:
    description: GPUs per node that the training uses.
    type: int
    default: 8
  unknown_keys:
    description: Whether an unknown key in the config stops the run (fault) or only gives a
      warning (warn).
    type: str
    choices:
      - fault
      - warn
    default: fault
  record_only:
    description: Record the run without judging thresholds; the config may leave them unfilled.
      A run that has none is also only recorded, with a warning.
    type: bool
    default: false
  max_skipped:
    description: How many iterations may be skipped after the warm-up, not counting those that
      search for a loss scale.
    type: int
    default: 0
  scale_batch:
    description: Use the global batch size as given (none), or scale it from the config's number
      of nodes to the run (reference_nodes); the two may then differ.
    type: str
    choices:
      - none
      - reference_nodes
    default: none
  thresholds:
    description: Thresholds file, such as a *_threshold.json of AMD CVS, in place of the config's
      thresholds. The cell that matches the run applies.
    type: str
    default: ''
  overrides:
    description: 'Values that replace the config''s, by key path: {"batch_size": 256, "config.training_iterations":
      50}. In a CVS config a path starts with a section, or with a key of config or of the branch;
      in any other config it starts at the top level.'
    type: dict
    default: {}
  container_engine:
    description: Container engine on the nodes; auto takes the installed one. apptainer is for
      Slurm jobs only.
    type: str
    choices:
      - auto
      - docker
      - podman
      - apptainer
      - none
    default: auto
"""
