/** Checks what a platform asks of the chart: fields of pods, sidecars, names, accounts, routes. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { previousCommit } from "../../tools/dev/releases.ts";
import {
  chartFolder,
  exampleFile,
  type KubernetesObject,
  objectsOf,
  render,
  template,
} from "../support/deploy/chart.ts";
import { kinds, readRelease } from "../support/deploy/release.ts";
import { projectRoot } from "../support/markdown.ts";
import { fetchCommit } from "../support/upgrade/versions.ts";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "meguri-chart-"));
afterAll(() => rmSync(folder, { recursive: true }));

const exampleOf = async (example: string, values: object = {}) =>
  readRelease(await render(example, values, folder), folder);
/** An example as it is: null removes a field of the chart. */
const asIs = async (example: string) =>
  readRelease(objectsOf(await template(exampleFile(example))), folder);

const named = (objects: readonly KubernetesObject[] = []) => objects.map(({ name }) => name);

describe("everything", () => {
  test("gives all pods the fields for all pods, and a component its own", async () => {
    const { controllers, podOf } = await asIs("everything");
    const fields = Object.fromEntries(
      kinds.map((kind) => {
        const { metadata, spec } = controllers[kind].spec.template;
        const { tier, "cost-centre": costCentre } = metadata.labels;
        const inject = metadata.annotations["sidecar.istio.io/inject"];
        return [kind, [costCentre, tier, inject, spec.priorityClassName]];
      }),
    );
    expect(fields).toEqual({
      setup: ["shop", "backend", "false", "shop-normal"],
      events: ["shop", "backend", "false", "shop-normal"],
      worker: ["shop", "backend", "false", "shop-normal"],
      server: ["shop", "frontend", "true", "shop-high"],
    });
    for (const kind of kinds) {
      const { affinity, nodeSelector, tolerations } = podOf(kind);
      expect(Object.keys(affinity)).toEqual(["nodeAffinity"]);
      expect(nodeSelector).toEqual({ "kubernetes.io/arch": "amd64" });
      expect(tolerations).toHaveLength(1);
    }
  });

  test("has sidecars of its own for servers and workers, and none in the setup", async () => {
    const { podOf } = await asIs("everything");
    expect(kinds.map((kind) => named(podOf(kind).containers))).toEqual([
      ["setup"],
      ["events"],
      ["worker", "log-shipper"],
      ["server", "envoy"],
    ]);
  });

  test("gives every container of Meguri further variables, volumes and mounts", async () => {
    const { podOf, containerOf } = await asIs("everything");
    const ours = [...kinds.map(containerOf), ...podOf("server").initContainers];
    expect(ours).toHaveLength(5);
    for (const { env, envFrom, volumeMounts } of ours) {
      expect(env.slice(-2)).toEqual([
        { name: "HTTPS_PROXY", value: "http://proxy.example:3128" },
        { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      ]);
      expect(envFrom).toEqual([{ configMapRef: { name: "company-wide" } }]);
      expect(volumeMounts.at(-1)).toEqual({ name: "tmp", mountPath: "/tmp" });
    }
    for (const kind of kinds) {
      const volumes = named(podOf(kind).volumes);
      expect(volumes.filter((name) => name === "tmp")).toEqual(["tmp"]);
      expect(volumes.includes("proxy")).toBe(kind === "server");
    }
  });

  test("makes further objects, with the templates in them filled in", async () => {
    const { of } = await asIs("everything");
    expect(of("ConfigMap", "proxy").data).toEqual({ "envoy.yaml": "admin: {}" });
    expect(of("ConfigMap", "notes").data).toEqual({ namespace: "shop" });
  });

  test("opens the service with one address, and lets an ingress lead to it", async () => {
    const { of } = await asIs("everything");
    const service = of("Service", "server");
    expect(service.spec.type).toBe("LoadBalancer");
    expect(service.metadata.annotations).toEqual({
      "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal",
    });
    const headless = of("Service", "server-headless");
    expect(headless.spec).toMatchObject({ clusterIP: "None" });
    expect(headless.metadata.annotations).toBeUndefined();
    const { metadata, spec } = of("Ingress", "server");
    expect(Object.keys(metadata.annotations)).toEqual([
      "nginx.ingress.kubernetes.io/ssl-passthrough",
    ]);
    const backend = { service: { name: "meguri-server", port: { name: "grpc" } } };
    const points = { path: "/meguri.points.v1.PointsService/", pathType: "ImplementationSpecific" };
    const hosts = ["grpc.meguri.example", "meguri.example"];
    expect(spec).toEqual({
      ingressClassName: "nginx",
      rules: [
        { host: hosts[0], http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
        { host: hosts[1], http: { paths: [{ ...points, backend }] } },
      ],
      tls: [{ hosts, secretName: "meguri-ingress" }],
    });
    expect(named(service.spec.ports)).toContain("grpc");
  });

  test("adds annotations to service accounts of the chart", async () => {
    const { of } = await asIs("everything");
    const { annotations } = of("ServiceAccount", "server").metadata;
    expect(annotations).toMatchObject({
      "company.example/owner": "shop",
      "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/meguri-server",
    });
  });
});

describe("openshift", () => {
  test("leaves the ids of users to the namespace, and the accounts to somebody else", async () => {
    const { objects, podOf } = await asIs("openshift");
    for (const kind of kinds) {
      const context = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
      expect(podOf(kind).securityContext).toEqual(context);
    }
    expect(objects.filter(({ kind }) => kind === "ServiceAccount")).toEqual([]);
  });

  test("has its name in all objects, and routes to the ports of the service", async () => {
    const { objects, of } = await asIs("openshift");
    const names = objects.map(({ metadata }) => metadata.name);
    expect(names.filter((name) => !name.startsWith("points"))).toEqual([]);
    const { spec } = of("Service", "server");
    for (const [kind, name, port] of [
      ["GRPCRoute", "grpc", 8080],
      ["HTTPRoute", "http1", 8081],
    ] as const) {
      const route = of(kind, "server").spec;
      expect(route.rules).toEqual([{ backendRefs: [{ name: "points-server", port }] }]);
      expect(route.parentRefs).toEqual([
        { name: "internal", namespace: "gateways", sectionName: "https" },
      ]);
      expect(spec.ports).toContainEqual(expect.objectContaining({ name, port }));
    }
    expect(of("GRPCRoute", "server").spec.hostnames).not.toEqual(
      of("HTTPRoute", "server").spec.hostnames,
    );
  });
});

test("nameOverride is the name in labels, selectors and names", async () => {
  const { objects, of, controllers } = await exampleOf("eks", { nameOverride: "points" });
  expect(controllers.server.metadata.name).toBe("meguri-points-server");
  const name = "app.kubernetes.io/name";
  for (const { metadata } of objects) expect(metadata.labels[name]).toBe("points");
  expect(of("Service", "server").spec.selector).toMatchObject({ [name]: "points" });
});

test("an own field is laid over the one for all pods, also when it is false", async () => {
  const { containerOf } = await exampleOf("eks", {
    securityContext: { runAsUser: 1_000_650_000 },
    server: { securityContext: { readOnlyRootFilesystem: false } },
  });
  const { securityContext } = containerOf("server");
  expect(securityContext).toEqual({
    ...containerOf("worker").securityContext,
    readOnlyRootFilesystem: false,
  });
  expect(securityContext.runAsUser).toBe(1_000_650_000);
});

test("a spread constraint keeps the selector that it has", async () => {
  const spread = { maxSkew: 1, topologyKey: "rack", whenUnsatisfiable: "DoNotSchedule" };
  const labelSelector = { matchLabels: { tier: "backend" } };
  const worker = { topologySpreadConstraints: [{ ...spread, labelSelector }] };
  const { podOf } = await exampleOf("eks", { worker });
  expect(podOf("worker").topologySpreadConstraints).toEqual([{ ...spread, labelSelector }]);
  expect(podOf("server").topologySpreadConstraints).toHaveLength(2);
});

/**
 * `helm upgrade` needs a cluster; what a cluster refuses to change, or would make beside the old
 * object, is compared instead: the names, and fields that cannot be changed.
 */
describe("the chart of the previous version", async () => {
  await fetchCommit(projectRoot, previousCommit);
  const archive = join(folder, "previous.tar");
  await run("git", ["archive", "-o", archive, previousCommit, "deploy"], { cwd: projectRoot });
  await run("tar", ["-xf", archive, "-C", folder]);
  const chart = join(folder, "deploy/chart");
  const values = readdirSync(join(chart, "examples"));
  expect(values.length).toBeGreaterThan(3);

  test.each(values)("is upgraded with its values %s", async (file) => {
    const fixed = async (from: string) =>
      new Map(
        objectsOf(await template(join(chart, "examples", file), from)).map((each) => [
          `${each.apiVersion} ${each.kind} ${each.metadata.name}`,
          fixedFields(each),
        ]),
      );
    const before = await fixed(chart);
    const after = await fixed(chartFolder);
    expect(before.size).toBeGreaterThan(10);
    for (const [name, fields] of before) expect([name, after.get(name)]).toEqual([name, fields]);
  });
});

/** The fields of an object that no update may change; jobs are deleted before they are made. */
function fixedFields({ kind, spec }: KubernetesObject) {
  if (kind === "Deployment") return spec.selector;
  if (kind === "Service") return { clusterIP: spec.clusterIP, selector: spec.selector };
  return {};
}
