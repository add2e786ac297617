# Shared by the scripts beside it: where we are, what must be installed, and progress that a person can follow.
# Source it; it runs nothing but `cd`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LOGS=build/logs

# What Debian 12 must have. One name a line, so that a change shows in a diff.
PACKAGES=(
  ccache
  chromium-headless-shell
  clang-19
  clang-format-19
  clang-tidy-19
  cmake
  dpkg-dev
  g++-12
  libboost1.81-dev
  libclang-rt-19-dev
  libcli11-dev
  libcurl4-openssl-dev
  libdnnl-dev
  libedit-dev
  libfmt-dev
  libgmock-dev
  libgtest-dev
  libgumbo-dev
  libhnswlib-dev
  libmd4c-dev
  libre2-dev
  libsodium-dev
  libspdlog-dev
  libsqlite3-dev
  libssl-dev
  libstemmer-dev
  libtomlplusplus-dev
  libzstd-dev
  llvm-19
  mold
  ninja-build
  openssl
  pkg-config
  poppler-utils
  strace
  tmux
)

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  BOLD=$'\e[1m' DIM=$'\e[2m' GREEN=$'\e[32m' RED=$'\e[31m' PLAIN=$'\e[0m'
else
  BOLD='' DIM='' GREEN='' RED='' PLAIN=''
fi

say() { printf '%s\n' "$*"; }

log_of() { printf '%s/%s.log' "$LOGS" "${1//[^A-Za-z0-9]/-}"; }

# step NAME COMMAND…: runs it with its output in build/logs/NAME.log, shows how long it takes, and on failure the
# end of that log. On a terminal the last line of the log stands beside the name while it runs.
step() {
  local name=$1 start=$SECONDS log pid rc=0
  shift
  mkdir -p "$LOGS"
  log=$(log_of "$name")
  "$@" >"$log" 2>&1 </dev/null &
  watch $! "$name" || rc=$?
  outcome "$rc" "$name" "$((SECONDS - start))"
}

# beside NAME COMMAND…: starts a step that uses what the others leave of the cores. `await NAME` shows how it ended.
declare -A BESIDE=()
beside() {
  local name=$1 log
  shift
  mkdir -p "$LOGS"
  log=$(log_of "$name")
  [ "${#BESIDE[@]}" -gt 0 ] || at_exit stop_besides
  # A session of its own, so that all of it can be stopped.
  setsid nice -n 15 bash -c 'source scripts/lib.sh; "$@"; printf "%d\n" "$SECONDS" >"$0.seconds"' "$log" "$@" >"$log" 2>&1 </dev/null &
  BESIDE[$name]=$!
}

await() {
  local name=$1 log rc=0
  log=$(log_of "$name")
  watch "${BESIDE[$name]}" "$name" || rc=$?
  unset "BESIDE[$name]"
  outcome "$rc" "$name" "$(cat "$log.seconds" 2>/dev/null || true)" ', beside the others'
}

stop_besides() {
  local pid
  for pid in "${BESIDE[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
}

# at_exit COMMAND…: when the script ends, however it does. The last stands first; $rc is what the script ends with.
AT_EXIT=:
at_exit() {
  AT_EXIT="$*; $AT_EXIT"
  trap 'rc=$?; eval "$AT_EXIT"' EXIT
}

# watch PID NAME: until it ends.
watch() {
  local pid=$1 name=$2 log
  log=$(log_of "$name")
  printf '%s%-34s%s' "$BOLD" "$name" "$PLAIN"
  if [ -t 1 ]; then
    while kill -0 "$pid" 2>/dev/null; do
      printf '\r%s%-34s%s%s%-60.60s%s' "$BOLD" "$name" "$PLAIN" "$DIM" "$(tail -n 1 "$log" 2>/dev/null | tr -d '\r\t\033')" "$PLAIN"
      sleep 0.3
    done
    printf '\r%s%-34s%s%-60s\r%s%-34s%s' "$BOLD" "$name" "$PLAIN" '' "$BOLD" "$name" "$PLAIN"
  fi
  wait "$pid"
}

# outcome RC NAME SECONDS [REMARK]
outcome() {
  local rc=$1 log
  if [ "$rc" -eq 0 ]; then
    printf '%sok%s  %3d s%s\n' "$GREEN" "$PLAIN" "$3" "${4:-}"
    return 0
  fi
  log=$(log_of "$2")
  printf '%sfailed%s (exit %d, whole output in %s)\n' "$RED" "$PLAIN" "$rc" "$log"
  tail -n 60 "$log" | sed 's/^/    /'
  return "$rc"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# The packages of the list that are not installed, and node where there is none.
missing_packages() {
  local wanted=("${PACKAGES[@]}")
  command -v npm >/dev/null || wanted+=(nodejs npm)
  local installed
  # dpkg-query fails when it has never heard of one of them, as on a bare machine.
  installed=$({ dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true; } |
    awk '$2=="installed"{print $1}')
  for package in "${wanted[@]}"; do
    grep -qxF "$package" <<<"$installed" || printf '%s\n' "$package"
  done
}

install_packages() {
  as_root apt-get update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

setup() {
  local names missing
  names=$(missing_packages)
  [ -n "$names" ] || return 0
  mapfile -t missing <<<"$names"
  say "${DIM}Installing Debian packages: ${missing[*]}${PLAIN}"
  step "packages" install_packages "${missing[@]}"
}

# build_preset NAME [TARGET…]: configures when needed, then builds.
build_preset() {
  local preset=$1
  shift
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
  cmake --build "build/$preset" ${1:+--target "$@"}
}
