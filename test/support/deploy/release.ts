/** The objects of a rendered release, by how tests ask for them. */
import { expect } from "vitest";
import type { ProcessKind } from "../../../src/platform/config/config.ts";
import { environmentOf, type KubernetesObject } from "./chart.ts";

/** The processes, in the order of their start. */
export const kinds: readonly ProcessKind[] = ["setup", "events", "worker", "server"];

/** Finds objects by their kind and component; files of containers are made in the folder. */
export function readRelease(objects: readonly KubernetesObject[], folder: string) {
  const servers = objects.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name.endsWith("-server"),
  );
  const prefix = servers?.metadata.name.replace(/server$/, "");
  const of = (kind: string, name: string) => {
    const found = objects.filter(
      (each) => each.kind === kind && each.metadata.name === `${prefix}${name}`,
    );
    expect(found.length, `${kind} ${prefix}${name}`).toBe(1);
    return found[0];
  };
  const controllers: Record<ProcessKind, KubernetesObject> = {
    server: of("Deployment", "server"),
    worker: of("Deployment", "worker"),
    events: of("Deployment", "events"),
    setup: of("Job", "setup"),
  };
  const podOf = (kind: ProcessKind) => controllers[kind].spec.template.spec;
  const containerOf = (kind: ProcessKind) => podOf(kind).containers[0];
  const envOf = (kind: ProcessKind) => environmentOf(podOf(kind), containerOf(kind), folder);
  return { objects, of, controllers, podOf, containerOf, envOf };
}
