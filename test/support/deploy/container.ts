/** Starts processes from the files of an image, as a container engine does. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { adopt, type Child } from "../../../tools/dev/stack/child.ts";
import { eventually } from "../fixtures/waiting.ts";
import type { Image } from "./image.ts";

interface ContainerOptions {
  readonly image: Image;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The folder on this machine that the process sees as /run/secrets. */
  readonly secrets?: string;
}

export interface Container extends Pick<Child, "exited" | "lastOutput"> {
  /** The id of its process 1, on this machine. */
  readonly pid: number;
  kill(): Promise<void>;
}

/** Starts the entrypoint with these arguments, to be killed in the end. */
export async function startContainer(options: ContainerOptions): Promise<Container> {
  const child = await start(options);
  const { exited, lastOutput } = child;
  return { exited, lastOutput, pid: await childOf(child), kill: child.killHard };
}

/** Runs the entrypoint with these arguments to its end. Returns the lines of its output. */
export async function runContainer(options: ContainerOptions): Promise<string[]> {
  const lines: string[] = [];
  const end = await (await start(options, (line) => lines.push(line))).exited;
  if (end !== "exit code 0") throw new Error(`${end}\n${lines.join("\n")}`);
  return lines;
}

/**
 * Starts process 1 of new namespaces: as the user of the image, without new privileges, with its
 * variables and with read-only files. It shares this machine's network. Its mounts end with it.
 */
async function start(
  { image, args, env, secrets = "" }: ContainerOptions,
  onLine?: (line: string) => void,
): Promise<Child> {
  const { Entrypoint, Env, User, WorkingDir } = image.config;
  const command = [image.root, secrets, User, WorkingDir, ...Entrypoint, ...args];
  const namespaces = ["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"];
  const process_ = spawn("unshare", [...namespaces, "sh", "-c", script, "sh", ...command], {
    env: { ...Object.fromEntries(Env.map(split)), ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  return await adopt(process_, { name: args.join(" "), ...(onLine && { onLine }) });
}

/** Each command ends with an exec, so that the entrypoint is process 1. */
const script = `
set -e
root=$1 secrets=$2 user=$3 folder=$4
shift 4
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
if [ -n "$secrets" ]; then
  mkdir -p "$root/run/secrets"
  mount --bind "$secrets" "$root/run/secrets"
  mount -o remount,bind,ro "$root/run/secrets"
fi
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" env --chdir="$folder" "$@"
`;

function split(variable: string): [string, string] {
  const at = variable.indexOf("=");
  return [variable.slice(0, at), variable.slice(at + 1)];
}

/** Waits for the child of unshare, which is process 1 of its own namespace. */
const childOf = ({ pid }: Child): Promise<number> =>
  eventually(async () => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    if (!/^\d+$/.test(children)) throw new Error("no child yet");
    return Number(children);
  });
