/** Renders the chart by Helm, as objects, and reads what a container of them would see. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse, parseAllDocuments } from "yaml";
import { projectRoot } from "../markdown.ts";
import { findHelm } from "./helm.ts";

const run = promisify(execFile);

export const chartFolder = `${projectRoot}deploy/chart`;

/** The newest version of Kubernetes whose schemas kubernetes-validate has. */
const kubeVersion = "1.37.0";

/** The names of the examples of values, such as `eks`. */
export const examples = readdirSync(`${chartFolder}/examples`).map((file) =>
  file.replace(/\.yaml$/, ""),
);

export const exampleFile = (name: string) => `${chartFolder}/examples/${name}.yaml`;

/** The values that an example sets. */
const readExample = (name: string) => parse(readFileSync(exampleFile(name), "utf8"));

/** Runs Helm on a chart with values, which it reads on top of the chart's own. */
export async function helm(
  command: readonly string[],
  valuesFile: string,
  chart: string = chartFolder,
): Promise<string> {
  const args = [...command, chart, "--kube-version", kubeVersion, "--values", valuesFile];
  const { stdout } = await run(await findHelm(), args, { maxBuffer: 2 ** 26 });
  return stdout;
}

/** The manifest of the release `meguri` in the namespace `shop`. */
export const template = (valuesFile: string, chart?: string) =>
  helm(["template", "meguri", "--namespace", "shop"], valuesFile, chart);

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes have many types.
export type KubernetesObject = any;

export const objectsOf = (manifest: string): KubernetesObject[] =>
  parseAllDocuments(manifest).flatMap((document) => document.toJS() ?? []);

/** Renders an example, with other values on top of it. */
export async function render(
  example: string,
  values: object,
  folder: string,
): Promise<KubernetesObject[]> {
  const file = join(mkdtempSync(join(folder, "values-")), "values.json");
  writeFileSync(file, JSON.stringify(merge(readExample(example), values)));
  return objectsOf(await template(file));
}

/** Merges values as Helm does: objects are merged, and null removes a key. */
function merge(under: KubernetesObject, over: KubernetesObject): KubernetesObject {
  if (!isObject(under) || !isObject(over)) return over;
  const keys = [...new Set([...Object.keys(under), ...Object.keys(over)])];
  return Object.fromEntries(
    keys
      .filter((key) => over[key] !== null)
      .map((key) => [key, key in over ? merge(under[key], over[key]) : under[key]]),
  );
}

const isObject = (value: unknown): value is KubernetesObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Values of the Secrets that examples name, by the variable. */
const secretValues: Readonly<Record<string, string>> = {
  MEGURI_SLACK_WEBHOOK_URL: "https://hooks.example/1",
  MEGURI_ANNOUNCE_URL: "rediss://user:password@valkey:6379",
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "key",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=token",
};

/**
 * The variables of a container. Values of Secrets are made up, and a file that a volume of the pod
 * brings is a file in this folder. Throws for a path that no volume brings.
 */
export function environmentOf(
  pod: KubernetesObject,
  container: KubernetesObject,
  folder: string,
): Record<string, string> {
  const entries = container.env.map(({ name, value, valueFrom }: KubernetesObject) => {
    if (valueFrom) return [name, secretValues[name]];
    return [name, /^\/etc\/meguri\//.test(value) ? placed(pod, container, value, folder) : value];
  });
  return Object.fromEntries(entries);
}

function placed(pod: KubernetesObject, container: KubernetesObject, path: string, folder: string) {
  for (const { name, mountPath } of container.volumeMounts ?? []) {
    if (!path.startsWith(`${mountPath}/`)) continue;
    const volume = pod.volumes.find((each: KubernetesObject) => each.name === name);
    const items = (volume.secret ?? volume.configMap).items;
    if (items.some((item: KubernetesObject) => `${mountPath}/${item.path}` === path)) {
      const file = join(mkdtempSync(join(folder, "file-")), "file");
      writeFileSync(file, "");
      return file;
    }
  }
  throw new Error(`no volume of the pod brings ${path}`);
}
