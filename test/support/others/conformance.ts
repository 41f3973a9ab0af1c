/** Plays Connect's conformance suite against our listeners. */
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { adopt } from "../../../tools/dev/stack/child.ts";
import { findModule, findSuite } from "./go-tools.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

/** What else the suite has to know of the server; by default, that it can do all. */
const features = {
  codecs: ["CODEC_PROTO", "CODEC_JSON"],
  compressions: ["COMPRESSION_IDENTITY", "COMPRESSION_GZIP", "COMPRESSION_BR"],
  supports_tls_client_certs: true,
};

/** Suites whose cases have to be answered within a second or two, which a busy machine misses. */
const timed = /^(Timeouts|Deadline Propagation)\//;

/** How often their failed cases are played. */
const rounds = 4;

type Protocol = "CONNECT" | "GRPC" | "GRPC_WEB";

/**
 * Plays all cases of these protocols over these versions of HTTP. Returns what fails but is in no
 * line of `conformance-deviations.txt`, and which lines' cases pass; empty when all is as it says.
 */
export async function playConformance(
  protocols: readonly Protocol[],
  versions: readonly (1 | 2)[],
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-conformance-"));
  try {
    const configuration = {
      features: {
        ...features,
        protocols: protocols.map((name) => `PROTOCOL_${name}`),
        versions: versions.map((version) => `HTTP_VERSION_${version}`),
      },
    };
    const conf = join(folder, "conf.yaml");
    // JSON is YAML.
    await writeFile(conf, JSON.stringify(configuration));
    const server = [process.execPath, ...(await buildServer(folder))];
    const play = (args: readonly string[]) =>
      runSuite(["--mode", "server", "--conf", conf, ...args, "--", ...server], folder);
    const known = join(root, "test/others/conformance-deviations.txt");
    return await again(await play(["--known-failing", `@${known}`]), play);
  } finally {
    await rm(folder, { recursive: true, maxRetries: 20 });
  }
}

/** Plays the failed cases of timed suites again, alone. Returns what still fails. */
async function again(
  failures: readonly string[],
  play: (args: readonly string[]) => Promise<string[]>,
): Promise<string[]> {
  const others = failures.filter((failure) => !timed.test(failure));
  let late = failures.filter((failure) => timed.test(failure));
  for (let round = 1; round < rounds && late.length > 0; round++) {
    const names = late.map((failure) => failure.split(":\n", 1)[0] ?? "");
    late = await play([...names.flatMap((name) => ["--run", name]), "--parallel", "1"]);
  }
  return [...others, ...late];
}

/** The file of the server under test in one piece, which starts soon, and its argument. */
async function buildServer(folder: string): Promise<string[]> {
  const descriptors = join(folder, "descriptors.binpb");
  const protos = join(await findModule("conformance"), "proto");
  const buf = join(root, "node_modules/.bin/buf");
  await run(buf, ["build", protos, "--as-file-descriptor-set", "--output", descriptors]);
  const file = join(folder, "server.mjs");
  const input = join(import.meta.dirname, "conformance-server.ts");
  const bundle = await rolldown({ input, platform: "node", logLevel: "warn" });
  await bundle.write({ file, codeSplitting: false });
  return [file, descriptors];
}

/**
 * Runs the suite. Returns its failures: the name of a case, a colon, and what is wrong.
 *
 * @throws Error with the end of its output when it played nothing.
 */
async function runSuite(args: readonly string[], folder: string): Promise<string[]> {
  const suite = await findSuite("connectconformance");
  const lines: string[] = [];
  const process_ = spawn(suite, ["--max-servers", "2", ...args], {
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const onLine = (line: string) => lines.push(line);
  const child = await adopt(process_, { name: "connectconformance", onLine });
  const end = await child.exited;
  const failures = lines
    .join("\n")
    .split(/^(?=[A-Z]+: )|\n\n/m)
    .flatMap((part) =>
      part.startsWith("FAILED: ") ? [part.slice("FAILED: ".length).trimEnd()] : [],
    );
  const isPlayed = lines.some((line) => line.startsWith("Total cases: "));
  if (!isPlayed || (end !== "exit code 0" && failures.length === 0)) {
    throw new Error(`connectconformance ended with ${end}\n${child.lastOutput()}`);
  }
  return failures;
}
