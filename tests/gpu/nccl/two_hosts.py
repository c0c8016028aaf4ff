"""What makes NCCL take two ranks on one GPU for two hosts, so that everything between them goes through a net plugin."""

import os

NETS = {"railweave": "Railweave", "socket": "Socket"}


def environment(net, plugin, rank, folder, **own):
    """Variables for one of the ranks. NCCL logs to `folder`; ranks meet there. `own` comes last."""
    return {
        **os.environ,
        "RANK": str(rank), "WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "0", "MEETING": str(folder / f"meeting-{net}"),
        "NCCL_HOSTID": f"railweave-test-{rank}",
        "NCCL_NET": NETS[net], "NCCL_NET_PLUGIN": str(plugin) if net == "railweave" else "none",
        "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MNNVL_ENABLE": "0",
        "NCCL_RAS_ENABLE": "0", "NCCL_CUMEM_ENABLE": "0", "NCCL_MAX_CTAS": "2", "NCCL_MULTI_RANK_GPU_ENABLE": "1",
        "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV", "NCCL_DEBUG_FILE": str(folder / f"{net}-{rank}.nccl.log"),
        **own,
    }


def over_loopback(net, plugin, rank, folder, lanes):
    """The same with lanes over loopback in place of rails."""
    return environment(net, plugin, rank, folder, NCCL_SOCKET_IFNAME="=lo",
                       **({"RAILWEAVE_LANES_PER_RAIL": str(lanes)} if net == "railweave" else {}))


def nccl_said(net, folder):
    """Everything that both ranks' NCCL logged."""
    return "".join(path.read_text(errors="replace") for path in sorted(folder.glob(f"{net}-*.nccl.log")))
