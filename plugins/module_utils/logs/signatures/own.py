# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of this collection's launch scripts, checks and embedded trainer."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "settings_refused",
        "The trainer rejects a setting. Correct the one that the message names; another image may support other "
        "settings.",
        rb"the settings are refused, nothing was started:(?:\s{1,40}[^\r\n]{1,400})?|\.sh: [^\r\n]{0,300} is refused: ",
        sample="train_llama3.sh: the argument 'X' is refused: KEY=VALUE is expected",
    ),
    Signature(
        "wrong_rank",
        "A node was not started as this run's plan says. Look on the nodes that the message names for a launch by "
        "hand or by another run, stop it, then start again.",
        rb"(?:two nodes were started as rank "
        rb"|rank (?=\d{1,9} \([^\r\n]{0,300}\) was started with other settings))(?P<rank>\d{1,9})",
        sample="ConnectionError: two nodes were started as rank 2: n1 at 10.0.0.2 and n2 at 10.0.0.3",
    ),
    Signature(
        "rdma_devices",
        "The container sees fewer RDMA devices than the node has. Read the lines before this one, mount the node's "
        "provider library, and pass in /dev/infiniband.",
        rb"RDMA devices: \d{1,9} on the node, [^\r\n]{0,200} in the container",
        sample="RDMA devices: 8 on the node, 0 in the container",
    ),
    Signature(
        "data_cache",
        "The dataset could not be fetched. Read the lines before this one, and check the network, the proxy and the "
        "free space in the data folder.",
        rb"ERROR: fetching the dataset |ERROR: there is neither wget nor curl"
        rb"|ERROR: [^\r\n]{0,300} holds the dataset |ERROR: [^\r\n]{0,300} is there, but no run has fetched it",
        sample="ERROR:  holds the dataset ",
    ),
    Signature(
        "name_resolution",
        "The master address does not work on this node. Use an address of rank 0 that every node resolves and reaches "
        "(MASTER_ADDR, JAX_COORDINATOR_IP).",
        rb"MASTER_ADDR [^\r\n]{0,300} cannot be resolved"
        rb"|rank 0 cannot listen on [^\r\n]{0,300}Cannot assign requested address",
        sample="OSError: rank 0 cannot listen on 10.0.0.9:6000 (Cannot assign requested address)",
    ),
    Signature(
        "network_interface",
        None,
        rb"there is no network interface '[^'\r\n]{0,99}' on "
        rb"|the network interface '[^'\r\n]{0,99}' has no IPv4 address",
        sample="OSError: the network interface 'ib0' has no IPv4 address (Cannot assign)",
    ),
    Signature(
        "address_in_use",
        None,
        rb"is no rank 0 of this trainer",
        sample="ConnectionError: what rank 1 found at 10.0.0.1:6000 is no rank 0 of this trainer: x",
    ),
    Signature(
        "rendezvous_timeout",
        "Not all nodes joined. Look for a node that did not start or failed earlier, then check master address, port "
        "and firewall.",
        rb"rendezvous timed out(?:[^\r\n]{0,300}missing: rank (?P<rank>\d{1,9}))?",
        sample="TimeoutError: rendezvous timed out after 5 s: rank 1 on n1 could not connect",
    ),
    Signature(
        "peer_died",
        "Another rank went away. Check its log for the cause.",
        rb"lost the connection to rank (?P<rank>\d{1,9})",
        sample="ConnectionError: rank 0 lost the connection to rank 5: another node has failed",
    ),
    Signature(
        "training_script",
        None,
        rb"ERROR: training \([^)\r\n]{0,300}\) failed with exit code (?P<exit_code>\d{1,9})"
        rb"|There was an error in the training script",
        more_specific_than=("any exit code",),
        sample="ERROR: training (torchrun pretrain_gpt.py) failed with exit code 7",
    ),
    Signature(
        "sigterm",
        None,
        rb"after receiving SIGTERM",
        sample="exiting program after receiving SIGTERM.",
    ),
)
