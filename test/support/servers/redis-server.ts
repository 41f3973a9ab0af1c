/** Finds or fetches the program `redis-server`. */
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findTool, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";
import { unpackDebian } from "./debian-packages.ts";

/** The Debian packages of the program and of the libraries that few machines have. */
const packages = ["redis-tools", "liblzf1", "libjemalloc2"];

/** Debian's mirrors offer the newest build of a release only; that of Debian 12 is the oldest. */
const tool = {
  command: "redis-server",
  title: "Redis server",
  version: "7.0",
  isMinimum: true,
  versionArgs: ["--version"],
  folder: "redis-server-debian",
  fetch: unpack,
} as const;

/**
 * Returns the path of the program. When the PATH has none that is new enough, packages of Debian or
 * Ubuntu are unpacked once, which needs no rights of root.
 *
 * @throws Error with instructions when they cannot be fetched.
 */
export const findRedisServer = (): Promise<string> => findTool(tool, sayOnce);

/** Unpacks the packages beside the folder, and returns a script in it that starts the program. */
async function unpack(folder: string, onProgress: Progress): Promise<string> {
  onProgress("fetching the Redis server of Debian");
  const root = await unpackDebian(packages, folder).catch((cause: Error) => {
    throw new Error(
      `there is no redis-server ${tool.version} or newer on the PATH, and apt-get cannot fetch ` +
        `it; TOOL_REDIS_SERVER can name one, or a valkey-server (${cause.message.trim()})`,
      { cause },
    );
  });
  // The program is one with the checker of dumps: its name decides what it does.
  await symlink("redis-check-rdb", join(root, "usr/bin/redis-server"));
  const script = join(folder, "redis-server");
  await writeFile(script, startScript, { mode: 0o755 });
  return script;
}

/** The script runs the program in its own place, so that signals reach it. */
const startScript = `#!/bin/sh
root="$(dirname "$0")/root"
LD_LIBRARY_PATH="$(echo "$root"/usr/lib/*-linux-*)" exec "$root/usr/bin/redis-server" "$@"
`;
