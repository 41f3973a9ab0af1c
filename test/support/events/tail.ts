/**
 * The command `meguri events tail` as a process of its own that writes into a file, as a consumer
 * without any code: its copy has what the file has, however often the process is killed.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { type Observer, type Process, startProcess } from "../../../tools/chaos/processes.ts";
import { adopt, type Child } from "../../../tools/dev/stack/child.ts";
import { projectRoot } from "../markdown.ts";
import { fromCloudEvent } from "./cloud-events.ts";
import type { EventCopy } from "./copy.ts";

export interface Tail {
  readonly process: Process;
  /** Gives the copy what was printed since the last time. */
  read(): void;
}

const command = [
  ...["packages/cli/src/main.ts", "events", "tail", "--all-programs", "--since", "1h"],
  ...["--include", "reason", "display-name", "text", "--cursor-file"],
];

/** Starts it with its files in a folder, at the address of a server. */
export async function startTail(
  folder: string,
  url: string,
  copy: EventCopy,
  observer: Observer,
): Promise<Tail> {
  const file = join(folder, "events");
  closeSync(openSync(file, "a"));
  let readTo = 0;

  /** The whole lines of the file from a place on. */
  const linesFrom = (place: number): Buffer => {
    const bytes = readFileSync(file).subarray(place);
    return bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
  };

  /** Cuts off a line of which a killed process has written a part, as a consumer has to. */
  async function start(): Promise<Child> {
    truncateSync(file, linesFrom(0).length);
    const output = openSync(file, "a");
    const child = spawn(process.execPath, [...command, join(folder, "tail-cursor")], {
      cwd: projectRoot,
      env: { ...process.env, MEGURI_URL: url, MEGURI_CALLER: "tail" },
      detached: true,
      stdio: ["ignore", output, "pipe"],
    });
    closeSync(output);
    return adopt(child, { name: "meguri events tail" });
  }

  return {
    process: await startProcess("meguri events tail", start, observer),
    read() {
      const lines = linesFrom(readTo);
      readTo += lines.length;
      for (const line of lines.toString().split("\n")) if (line) copy.add(fromCloudEvent(line));
    },
  };
}
