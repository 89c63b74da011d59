# What `server` and `client` share: checks, and a link that is put on a network device and always taken off again.
# Sourced by bash with `set -euo pipefail`.

delay=10ms
loss=0.05%
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
undo=()

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin  # where su leaves the PATH as it was

say() { printf '%s\n' "$*" >&2; }
# stop WHAT: exit code 4, as of `mixedsched` itself where a part or a privilege is missing.
stop() {
    say "cannot go on: $*"
    exit 4
}
usage() {
    say "$1"
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# as_user COMMAND...: with the rights of whoever called sudo, for a browser should not be root. Call it in a subshell, of
# which it takes the place.
as_user() {
    if [ -n "${SUDO_USER:-}" ]; then exec sudo -u "$SUDO_USER" -- "$@"; else exec "$@"; fi
}

check_parts() {
    local part
    for part in ip tc; do command -v "$part" >/dev/null || stop "$part is missing; run: sudo apt-get install iproute2"; done
    [ -x "$project/.venv/bin/mixedsched" ] || stop "mixedsched is not set up here; run: make setup"
    [ "$(id -u)" = 0 ] || stop "putting a link on a device needs root; run: sudo $0 ..."
}

# check_device DEVICE: it is there, up, and nobody else shapes it.
check_device() {
    [ -d "/sys/class/net/$1" ] || stop "there is no device $1; known: $(ls -x /sys/class/net)"
    [ "$1" != lo ] || stop "lo is no link between two machines"
    ip -o link show dev "$1" | grep -q '[<,]UP[,>]' || stop "$1 is down; run: sudo ip link set $1 up"
    local root
    root=$(tc qdisc show dev "$1" root | awk 'NR == 1 { print $2 }')
    case ${root:-noqueue} in
    noqueue | pfifo_fast | fq_codel | fq | mq) ;;
    *) stop "$1 is shaped already ($root); take that off first: sudo tc qdisc delete dev $1 root" ;;
    esac
}

# put_link_on DEVICE: netem, and no bundles of packets, of which one loss would take many.
put_link_on() {
    local device=$1 feature said
    if command -v ethtool >/dev/null; then
        for feature in gso:generic-segmentation-offload gro:generic-receive-offload tso:tcp-segmentation-offload; do
            if ethtool -k "$device" 2>/dev/null | grep -q "^${feature#*:}: on\$"; then
                ethtool -K "$device" "${feature%%:*}" off
                undo+=("ethtool -K $device ${feature%%:*} on")
            fi
        done
    else
        say "ethtool is not here: bundles of packets (GSO, GRO) stay as they are; install ethtool to be sure"
    fi
    said=$(tc qdisc add dev "$device" root netem limit 200000 delay "$delay" loss random "$loss" 2>&1) ||
        stop "tc refuses the link: $said. If this kernel has no netem, run: sudo modprobe sch_netem, or install" \
            "linux-modules-extra-$(uname -r)"
    undo+=("tc qdisc delete dev $device root")
    say "link on $device: $delay and $loss towards the other machine"
}

take_link_off() {
    local number
    for ((number = ${#undo[@]} - 1; number >= 0; number--)); do ${undo[number]} || say "could not undo: ${undo[number]}"; done
    undo=()
}
trap take_link_off EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
