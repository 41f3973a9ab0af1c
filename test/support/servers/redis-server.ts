/** Finds or fetches the program `redis-server`, or Valkey's, which speaks the same protocol. */
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findOnPath, findTool, type Progress } from "../../../src/dev/stack/cached-tools.ts";
import { unpackDebian } from "./debian-packages.ts";

/** The Debian packages of the program and of the libraries that few machines have. */
const packages = ["redis-tools", "liblzf1", "libjemalloc2"];
const title = "Redis server of Debian";

/**
 * Returns the path of the program: that of the variable REDIS_SERVER, one on the PATH, or one in
 * the project's cache folder, into which packages of Debian or Ubuntu are unpacked once. This needs
 * no rights of root. Throws an error with instructions when none of these works.
 */
export async function findRedisServer(): Promise<string> {
  const named = process.env.REDIS_SERVER || (await findOnPath("valkey-server"));
  if (named) return named;
  const tool = { command: "redis-server", title, folder: "redis-server-debian", fetch: unpack };
  return await findTool(tool, console.error);
}

/** Unpacks the packages beside the folder, and returns a script in it that starts the program. */
async function unpack(folder: string, onProgress: Progress): Promise<string> {
  onProgress(`fetching the ${title}`);
  const root = await unpackDebian(packages, folder).catch((cause: Error) => {
    throw new Error(
      "There is no redis-server, and apt-get cannot fetch it. Put redis-server or valkey-server " +
        `on the PATH, or set REDIS_SERVER to its path. (${cause.message.trim()})`,
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
