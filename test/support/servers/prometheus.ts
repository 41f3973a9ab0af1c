/** A real Prometheus that scrapes processes of a test every second. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adopt, waitUntilReady } from "../../../tools/dev/stack/child.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { projectRoot } from "../markdown.ts";
import { findPrometheus } from "./promtool.ts";

export interface Prometheus {
  /** How many series an expression has now. */
  count(expression: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts one with our rules that scrapes these ports of loopback, by the names of their jobs. */
export async function startPrometheus(jobs: Readonly<Record<string, number>>): Promise<Prometheus> {
  const program = await findPrometheus();
  const folder = await mkdtemp(join(tmpdir(), "meguri-prometheus-"));
  const file = join(folder, "prometheus.json");
  // JSON is YAML as well.
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [`${projectRoot}deploy/prometheus/rules.yml`],
    scrape_configs: Object.entries(jobs).map(([name, port]) => ({
      job_name: name,
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    })),
  };
  await writeFile(file, JSON.stringify(config));
  const [port] = await findPorts(0);
  const url = `http://127.0.0.1:${port}`;
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const process_ = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const child = await adopt(process_, { name: "Prometheus" });
  const isReady = () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitUntilReady(child, isReady);
  return {
    async count(expression) {
      const query = new URLSearchParams({ query: expression });
      const answer = await fetch(`${url}/api/v1/query?${query}`);
      const { data, error } = (await answer.json()) as Answer;
      if (!data) throw new Error(`${expression}: ${error}`);
      return data.result.length;
    },
    async stop() {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Answer {
  readonly data?: { readonly result: readonly unknown[] };
  readonly error?: string;
}
