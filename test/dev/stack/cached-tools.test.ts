/** Tests which program a tool is, by fake programs on a PATH, and that it is fetched once. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  fetchOnce,
  findInstalled,
  findTool,
  installWithGo,
  type Tool,
} from "../../../tools/dev/stack/cached-tools.ts";
import { findTemporalCli } from "../../../tools/dev/stack/temporal-cli.ts";

let folder: string;
let lines: string[];
const onProgress = (line: string) => void lines.push(line);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-tools-"));
  lines = [];
  await mkdir(join(folder, "bin"));
  vi.stubEnv("PATH", join(folder, "bin"));
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Makes a program that prints this. */
async function program(name: string, output: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  return path;
}

const cached = (...names: string[]) => join(folder, "cache", "meguri", ...names);

/** A tool whose fetched program prints the output. */
const toolOf = (output: string, more: Partial<Tool> = {}): Tool => ({
  command: "tool-x",
  title: "Tool",
  version: "1.5.1",
  versionArgs: ["--version"],
  folder: "tool-1",
  fetch: async (into) => {
    const path = join(into, "fetched");
    await writeFile(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
    return path;
  },
  ...more,
});

describe("the tool is", () => {
  const tool = toolOf("tool version 1.5.1");

  test("the one of the PATH that says the wanted version", async () => {
    const path = await program("bin/tool-x", "tool version 1.5.1 (Server 1.29.1)");
    expect(await findTool(tool, onProgress)).toBe(path);
    expect(lines).toEqual([`Tool 1.5.1: ${path}`]);
  });

  test.each([
    ["an older version", "tool version 1.5.0 (Server 1.5.1)", "1.5.0"],
    ["a newer version", "tool v1.5.10", "1.5.10"],
    ["no version", "tool of 1.5.1", "of an unknown version"],
  ])("the fetched one when that of the PATH says %s", async (_, output, said) => {
    const found = await program("bin/tool-x", output);
    expect(await findTool(tool, onProgress)).toBe(cached("tool-1", "tool-x"));
    expect(lines).toEqual([
      `Tool 1.5.1: ${cached("tool-1", "tool-x")} ` +
        `(${found} is ${said}; TOOL_TOOL_X can name another one)`,
    ]);
  });

  test("the fetched one when that of the PATH cannot be asked", async () => {
    await program("bin/tool-x", "tool version 1.5.1");
    const silent = toolOf("", { versionArgs: undefined });
    expect(await findTool(silent, onProgress)).toBe(cached("tool-1", "tool-x"));
  });

  test("the one that its variable names, whatever its version is", async () => {
    await program("bin/tool-x", "tool version 1.5.1");
    const path = await program("other", "tool version 2.0.0");
    vi.stubEnv("TOOL_TOOL_X", path);
    expect(await findTool(tool, onProgress)).toBe(path);
    expect(lines).toEqual([`Tool 2.0.0: ${path}`]);
  });

  test("none when its variable names no program", async () => {
    vi.stubEnv("TOOL_TOOL_X", "/nowhere");
    await expect(findTool(tool)).rejects.toThrow(
      "TOOL_TOOL_X is /nowhere, which is no program that can be run",
    );
  });

  test.each([
    ["7.0.15", "bin/tool-x"],
    ["10.0", "bin/tool-x"],
    ["6.2.9", "cache/meguri/tool-1/tool-x"],
  ])("by a minimum of 7.0: where the PATH has %s, %s", async (version, path) => {
    await program("bin/tool-x", `Redis server v=${version} sha=0`);
    const minimum = toolOf("Redis server v=7.0.15", { version: "7.0", isMinimum: true });
    expect(await findTool(minimum, onProgress)).toBe(join(folder, path));
    expect(lines[0]).toMatch(path.startsWith("bin") ? `Tool ${version}: ` : "Tool 7.0.15: ");
  });

  test.each([
    ['openjdk version "17.0.15" 2025-04-15', "17.0.15"],
    ['openjdk version "21" 2023-09-19', "21"],
    ["go version go1.26.8 linux/amd64", "1.26.8"],
    ["promtool, version 2.42.0+ds (branch: debian/sid)", "2.42.0"],
    ["v3.19.0+g3d8990f", "3.19.0"],
    ["Chromium 156.0.8010.0 built on Debian", "156.0.8010.0"],
  ])("known by %s", async (output, version) => {
    vi.stubEnv("TOOL_TOOL_X", await program("other", output));
    await findTool(tool, onProgress);
    expect(lines[0]).toMatch(`Tool ${version}: `);
  });
});

test("what people install has to be new enough, and the error says what to do", async () => {
  const java = {
    command: "java",
    title: "JDK",
    version: "17",
    isMinimum: true,
    versionArgs: ["-version"],
    site: "https://adoptium.net",
  } as const;
  const advice = "install one (https://adoptium.net), or set TOOL_JAVA to the path of its java";
  await expect(findInstalled(java)).rejects.toThrow(
    `there is no JDK 17 or newer (no java is on the PATH): ${advice}`,
  );
  const old = await program("bin/java", 'java version "1.8.0_292"');
  await expect(findInstalled(java)).rejects.toThrow(
    `there is no JDK 17 or newer (${old} is 1.8.0): ${advice}`,
  );
  const path = await program("bin/java", 'openjdk version "21" 2023-09-19');
  expect(await findInstalled(java, onProgress)).toBe(path);
  expect(lines).toEqual([`JDK 21: ${path}`]);
});

test("without the Temporal CLI and Go, the error names the ways out", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new Error("offline")));
  await expect(findTemporalCli()).rejects.toThrow(
    /^the Temporal CLI 1\.5\.1 cannot .*no Go 1\.21 .*TOOL_GO .*TOOL_TEMPORAL .*TEMPORAL_ADDRESS/,
  );
  vi.unstubAllGlobals();
});

describe("a file is fetched", () => {
  test("by one of two callers, while the other one waits", async () => {
    const begun = Promise.withResolvers<void>();
    const waited = Promise.withResolvers<void>();
    const fetched: string[] = [];
    const file = toolOf("", {
      fetch: async (into) => {
        fetched.push(into);
        begun.resolve();
        await waited.promise;
        await writeFile(join(into, "x"), "");
        return join(into, "x");
      },
    });
    const first = fetchOnce(file, onProgress);
    await begun.promise;
    const second = fetchOnce(file, (line) => {
      onProgress(line);
      waited.resolve();
    });
    expect(await first).toBe(await second);
    expect(fetched).toHaveLength(1);
    expect(lines).toEqual(["waiting for another process that fetches the Tool"]);
    expect(await readdir(cached("tool-1"))).toEqual(["tool-x"]);
  });

  test("into a folder whose path is too long for a socket", async () => {
    const long = toolOf("", { folder: "x".repeat(120) });
    expect(await fetchOnce(long)).toBe(cached("x".repeat(120), "tool-x"));
  });

  test("after a process was killed meanwhile, without what that has left", async () => {
    const module = JSON.stringify(
      `${import.meta.dirname}/../../../tools/dev/stack/cached-tools.ts`,
    );
    const script = `import { fetchOnce } from ${module};
      await fetchOnce({ command: "tool-x", title: "Tool", folder: "tool-1", fetch: () => {
        console.log("fetching"); return new Promise((resolve) => setTimeout(resolve, 2 ** 30));
      } });`;
    const killed = spawn(process.execPath, ["--input-type=module", "--eval", script]);
    await once(killed.stdout, "data");
    killed.kill("SIGKILL");
    await once(killed, "exit");
    expect(await readdir(cached("tool-1"))).toEqual([
      expect.stringMatching(/^fetch-/),
      "lock.sock",
    ]);
    await fetchOnce(toolOf(""), onProgress);
    expect(await readdir(cached("tool-1"))).toEqual(["tool-x"]);
    expect(lines).toEqual([]);
  });
});

test("a build with Go has its files in a folder that goes, and its cache is kept", async () => {
  const go = 'echo "go version go1.26.8"; [ "$1" = version ] || echo "$@" >"$GOBIN/built"';
  await writeFile(join(folder, "bin/go"), `#!/bin/sh\n${go}\n`, { mode: 0o755 });
  const into = join(folder, "into");
  await mkdir(into);
  const wanted = { title: "Tool 1.5.1", package: "example.com/tool@v1.5.1", duration: "a minute" };
  await installWithGo(wanted, into, onProgress);
  await access(join(into, "built"));
  expect(lines).toEqual([
    `Go 1.26.8: ${join(folder, "bin/go")}`,
    "building the Tool 1.5.1, once: a minute; a stopped build goes on where it was",
    expect.stringMatching(/^built the Tool 1\.5\.1 \(\d+ s\)$/),
  ]);
});
