/** Checks the chart: Helm accepts it, and the objects that it makes are right for each example. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { defaults, type ProcessKind, readConfig, reads } from "../../src/platform/config/config.ts";
import { nodeFlags } from "../../tools/dev/stack/service.ts";
import {
  chartFolder,
  environmentOf,
  exampleFile,
  examples,
  helm,
  type KubernetesObject,
  objectsOf,
  render,
  template,
} from "../support/deploy/chart.ts";
import { findPythonTool } from "../support/deploy/python-tools.ts";
import { kinds, readRelease } from "../support/deploy/release.ts";
import { projectRoot } from "../support/markdown.ts";
import { selectorsOf, unknownNames } from "../support/promql.ts";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "meguri-chart-"));
afterAll(() => rmSync(folder, { recursive: true }));

const schema = JSON.parse(readFileSync(`${chartFolder}/values.schema.json`, "utf8"));
const namesOf = (...path: string[]) =>
  Object.keys(path.reduce((at, key) => at[key], schema).properties as object);
const settable = {
  config: namesOf("$defs", "config"),
  files: namesOf("properties", "files"),
  secrets: namesOf("properties", "secrets"),
};

/** What each process runs, with the flags of the scripts of package.json. */
const entries = {
  server: ".build/server.js",
  worker: ".build/worker.js",
  events: ".build/events.js",
  setup: "src/ops/setup.ts",
};

/** The manifest of an example, which is rendered once. */
const manifests = new Map<string, Promise<string>>();
const manifestOf = (example: string): Promise<string> => {
  const rendered = manifests.get(example) ?? template(exampleFile(example));
  manifests.set(example, rendered);
  return rendered;
};
const releaseOf = async (example: string) =>
  readRelease(objectsOf(await manifestOf(example)), folder);

test("the chart has the version of the product", () => {
  const chart = parse(readFileSync(`${chartFolder}/Chart.yaml`, "utf8"));
  expect(chart).toMatchObject({ version: manifest.version, appVersion: manifest.version });
});

test("every variable can be set, but for those of the chart, of the image and of tests", () => {
  const { config, files, secrets } = settable;
  const chosen = ["NODE_ENV", "MEGURI_PORT", "MEGURI_HTTP1_PORT", "MEGURI_OPERATORS_PORT"];
  const others = ["MEGURI_METRICS_PORT", "MEGURI_EVENTS_PORT"];
  const ofImage = ["MEGURI_WORKFLOW_BUNDLE", "MEGURI_BUILD_ID"];
  const never = [...chosen, ...others, ...ofImage, "MEGURI_TEST_CLOCK"];
  // Of AWS' SDK and of the exporter of traces, which read them themselves.
  const ofLibraries =
    /^(AWS_ACCESS_KEY_ID|AWS_SECRET_ACCESS_KEY|OTEL_(RESOURCE|EXPORTER_OTLP)_[A-Z]+)$/;
  const all = [...config, ...files, ...secrets, ...never];
  const known = [...defaults.keys()];
  expect(all.filter((name) => !known.includes(name) && !ofLibraries.test(name))).toEqual([]);
  expect(known.filter((name) => !all.includes(name))).toEqual([]);
  expect(new Set(all).size).toBe(all.length);
});

/** The examples with each process of them. */
const eachProcess = examples.flatMap((example) => kinds.map((kind) => [example, kind] as const));
const eachDeployment = eachProcess.filter(([, kind]) => kind !== "setup");

/** The groups of objects whose kinds are not Kubernetes' own. */
const operators = [
  "monitoring.coreos.com",
  "keda.sh",
  "gateway.networking.k8s.io",
  "route.openshift.io",
];

test.each(examples)("%s passes helm lint --strict", async (example) => {
  expect(await helm(["lint", "--strict"], exampleFile(example))).toContain("0 chart(s) failed");
});

test.each(examples)(
  "%s passes kubernetes-validate, but for objects of operators",
  async (example) => {
    const text = await manifestOf(example);
    const release = await releaseOf(example);
    const file = join(folder, `${example}.yaml`);
    writeFileSync(file, text);
    const validate = await findPythonTool("kubernetes-validate");
    const { stdout, stderr } = await run(validate, ["--strict", file]);
    const lines = (stdout + stderr).trim().split("\n");
    const unknown = lines.flatMap((line) => line.match(/find schema for kind (\w+)/)?.[1] ?? []);
    const ofOperators = release.objects.filter(({ apiVersion }) =>
      operators.includes(apiVersion.split("/")[0]),
    );
    expect(unknown.sort()).toEqual(ofOperators.map(({ kind }) => kind).sort());
    const passed = lines.filter((line) => line.includes(" passed for resource "));
    expect(passed.length + unknown.length).toBe(release.objects.length);
  },
);

test.each(eachProcess)("%s gives the %s a configuration that it accepts", async (example, kind) => {
  const release = await releaseOf(example);
  const env = release.envOf(kind);
  expect(readConfig(env, kind)).toMatchObject({ testClock: false });
  expect(env.NODE_ENV).toBe("production");
  const own = [...settable.files, ...settable.secrets].filter((name) => defaults.has(name));
  expect(own.filter((name) => name in env && !reads(kind, name))).toEqual([]);
});

test.each(examples)("%s has ports and probes where the processes listen", async (example) => {
  const release = await releaseOf(example);
  const { containerOf, envOf } = release;
  const portsOf = (kind: ProcessKind) =>
    Object.fromEntries(
      containerOf(kind).ports.map((port: KubernetesObject) => [port.name, port.containerPort]),
    );
  const server = readConfig(envOf("server"), "server");
  const { port: grpc, http1Port: http1, operatorsPort: operators } = server;
  expect(portsOf("server")).toEqual({ grpc, http1, operators });
  expect(portsOf("worker")).toEqual({
    metrics: readConfig(envOf("worker"), "worker").metricsPort,
  });
  expect(portsOf("events")).toEqual({ metrics: readConfig(envOf("events"), "events").eventsPort });
  expect(containerOf("server")).toMatchObject({
    startupProbe: { httpGet: { path: "/readyz", port: "operators" } },
    livenessProbe: { httpGet: { path: "/livez", port: "operators" } },
    readinessProbe: server.tls ? { tcpSocket: { port: "grpc" } } : { grpc: { port: grpc } },
  });
  for (const kind of ["worker", "events"] as const) {
    expect(containerOf(kind)).toMatchObject({
      startupProbe: { httpGet: { path: "/livez", port: "metrics" } },
      livenessProbe: { httpGet: { path: "/livez", port: "metrics" } },
      readinessProbe: { httpGet: { path: "/readyz", port: "metrics" } },
    });
  }
});

test.each(examples)("%s ends pods later than their drain", async (example) => {
  const release = await releaseOf(example);
  const { podOf, containerOf, envOf } = release;
  const server = readConfig(envOf("server"), "server").drainSeconds;
  const preStop = containerOf("server").lifecycle.preStop.sleep.seconds;
  expect(preStop).toBeGreaterThan(0);
  expect(podOf("server").terminationGracePeriodSeconds).toBeGreaterThan(preStop + server);
  // src/worker.ts gives activities 5 s more.
  const worker = readConfig(envOf("worker"), "worker").drainSeconds + 5;
  expect(podOf("worker").terminationGracePeriodSeconds).toBeGreaterThan(worker);
  const events = readConfig(envOf("events"), "events").drainSeconds;
  expect(podOf("events").terminationGracePeriodSeconds).toBeGreaterThan(events);
});

test.each(examples)("%s runs the setup first, then workers, then servers", async (example) => {
  const release = await releaseOf(example);
  const { objects, of, podOf, controllers } = release;
  const annotations = (each: KubernetesObject) => each.metadata.annotations ?? {};
  const hook = "helm.sh/hook";
  const before = (each: KubernetesObject) => annotations(each)[hook] === "pre-install,pre-upgrade";
  const { serviceAccountName } = podOf("setup");
  const hasAccount = objects.some(({ metadata }) => metadata.name === serviceAccountName);
  const needed = ["NetworkPolicy", ...(hasAccount ? ["ServiceAccount"] : [])];
  expect(objects.filter(before)).toEqual([...needed, "Job"].map((kind) => of(kind, "setup")));
  // Helm keeps the log of the setup, and what a failed one needs, until the next one.
  const deletion = objects.filter(before).map((each) => annotations(each)[`${hook}-delete-policy`]);
  expect(new Set(deletion)).toEqual(new Set(["before-hook-creation"]));
  const weight = (each: KubernetesObject) => Number(annotations(each)[`${hook}-weight`]);
  for (const kind of needed) {
    expect(weight(of(kind, "setup"))).toBeLessThan(weight(controllers.setup));
  }
  const [init] = podOf("server").initContainers;
  expect(init.command).toEqual(["node", "src/ops/await-workers.ts"]);
  expect(init.image).toBe(release.containerOf("server").image);
  const env = environmentOf(podOf("server"), init, folder);
  const { temporalAddress, temporalNamespace, taskQueue } = readConfig(env, "worker");
  expect(readConfig(release.envOf("worker"), "worker")).toMatchObject({
    temporalAddress,
    temporalNamespace,
    taskQueue,
  });
});

/** The service accounts that an example takes from somebody else. */
const accounts: Record<string, Record<ProcessKind, string>> = {
  openshift: {
    server: "shop-points",
    worker: "shop-points",
    events: "shop-points",
    setup: "default",
  },
};

test.each(eachProcess)("%s runs the %s with the least rights", async (example, kind) => {
  const release = await releaseOf(example);
  const { objects, podOf, containerOf } = release;
  const pod = podOf(kind);
  expect(containerOf(kind).command).toEqual(["node", ...nodeFlags(entries[kind]), entries[kind]]);
  expect(pod).toMatchObject({
    serviceAccountName: accounts[example]?.[kind] ?? `meguri-${kind}`,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  });
  const own = objects.filter(
    (each) => each.kind === "ServiceAccount" && each.metadata.name === pod.serviceAccountName,
  );
  expect(own.map((each) => each.automountServiceAccountToken)).toEqual(
    accounts[example] ? [] : [false],
  );
  for (const container of [containerOf(kind), ...(pod.initContainers ?? [])]) {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { memory: expect.any(String) },
    });
  }
});

test.each(eachDeployment)("%s spreads the %ss and keeps enough", async (example, kind) => {
  const release = await releaseOf(example);
  const { of, controllers, podOf } = release;
  const { labels } = controllers[kind].spec.template.metadata;
  const selector = controllers[kind].spec.selector.matchLabels;
  expect(labels).toMatchObject(selector);
  expect(selector["app.kubernetes.io/component"]).toBe(kind);
  expect(of("PodDisruptionBudget", kind).spec).toEqual({
    maxUnavailable: 1,
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector: { matchLabels: selector },
  });
  const { topologySpreadConstraints: spread } = podOf(kind);
  expect(spread.map(({ topologyKey }: KubernetesObject) => topologyKey)).toEqual([
    "topology.kubernetes.io/zone",
    ...(example === "everything" ? [] : ["kubernetes.io/hostname"]),
  ]);
  for (const each of spread) expect(each.labelSelector.matchLabels).toEqual(selector);
  expect(controllers[kind].spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
});

test.each(examples)(
  "%s has a service with one address, and one with those of all servers",
  async (example) => {
    const release = await releaseOf(example);
    const { of, controllers, containerOf } = release;
    const names = containerOf("server").ports.map(({ name }: KubernetesObject) => name);
    for (const [name, clusterIp, ports] of [
      ["server", undefined, ["grpc", "http1"]],
      ["server-headless", "None", names],
    ]) {
      const { spec } = of("Service", name);
      expect(spec.clusterIP).toBe(clusterIp);
      expect(spec.selector).toEqual(controllers.server.spec.selector.matchLabels);
      expect(spec.ports.map((port: KubernetesObject) => port.targetPort)).toEqual(ports);
    }
  },
);

test.each(examples)("%s brings no secret in any object", async (example) => {
  const release = await releaseOf(example);
  expect(release.objects.filter(({ kind }) => kind === "Secret")).toEqual([]);
  for (const kind of kinds) {
    const variables: KubernetesObject[] = release.containerOf(kind).env;
    for (const { name, value, valueFrom } of variables) {
      if (settable.secrets.includes(name)) expect(valueFrom.secretKeyRef).toBeDefined();
      if (settable.files.includes(name))
        expect(value).toMatch(/^\/etc\/meguri\/\w+\/[^/]+\/[^/]+$/);
      if (!valueFrom) expect(value).not.toBe("");
    }
  }
});
describe("network policies", () => {
  const dns = [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP" },
  ];
  const aws = 443;

  test.each([
    ["eks", [aws, 7233]],
    ["temporal-cloud", [aws, 7233]],
    ["openshift", [aws, 7233]],
    ["local", [aws, 8000, 7233]],
    ["everything", [aws, 7234, 4318, 6379]],
  ])("of the example %s admit exactly the ports that are used", async (example, egress) => {
    const release = readRelease(await render(example, {}, folder), folder);
    const { of, controllers } = release;
    const everybody = example !== "everything";
    const callers = [{ namespaceSelector: { matchLabels: { meguri: "caller" } } }];
    const name = { "kubernetes.io/metadata.name": "monitoring" };
    const monitoring = [{ namespaceSelector: { matchLabels: name } }];
    const rule = (ports: string[], from: object[]) => ({
      ports: ports.map((port) => ({ port })),
      ...(!everybody && { from }),
    });
    const ingress = {
      server: [rule(["grpc", "http1"], callers), rule(["operators"], monitoring)],
      worker: [rule(["metrics"], monitoring)],
      events: [rule(["metrics"], monitoring)],
      setup: [],
    };
    const { temporalAddress } = readConfig(release.envOf("worker"), "worker");
    const temporal = Number(temporalAddress.split(":").at(-1));
    for (const kind of kinds) {
      expect(of("NetworkPolicy", kind).spec).toEqual({
        podSelector: { matchLabels: matchLabelsOf(controllers[kind]) },
        policyTypes: ["Ingress", "Egress"],
        ingress: ingress[kind],
        egress: [{ ports: dns }, { ports: expect.arrayContaining([{ port: aws }]) }],
      });
      const ports = of("NetworkPolicy", kind).spec.egress[1].ports;
      const used = egress.filter((port) => kind !== "events" || port !== temporal);
      expect(ports.map(({ port }: KubernetesObject) => port).sort()).toEqual(used.toSorted());
    }
  });

  test("can be left out", async () => {
    const objects = await render("eks", { networkPolicy: { enabled: false } }, folder);
    expect(objects.filter(({ kind }) => kind === "NetworkPolicy")).toEqual([]);
  });
});

/** The labels that select the pods of a controller; a job has them on its pods only. */
function matchLabelsOf({ spec }: KubernetesObject) {
  const { labels } = spec.template.metadata;
  return Object.fromEntries(
    ["name", "instance", "component"].map((name) => {
      const label = `app.kubernetes.io/${name}`;
      return [label, labels[label]];
    }),
  );
}

test("everything scales servers by CPU, and workers by the share of used slots", async () => {
  const release = await releaseOf("everything");
  const { of, controllers } = release;
  expect(of("HorizontalPodAutoscaler", "server").spec).toMatchObject({
    scaleTargetRef: { kind: "Deployment", name: "meguri-server" },
    minReplicas: 3,
    maxReplicas: 30,
    metrics: [{ resource: { name: "cpu", target: { averageUtilization: 60 } } }],
  });
  const { spec } = of("ScaledObject", "worker");
  const { query } = spec.triggers[0].metadata;
  expect(spec).toEqual({
    scaleTargetRef: { name: "meguri-worker" },
    minReplicaCount: 3,
    maxReplicaCount: 12,
    triggers: [
      {
        type: "prometheus",
        metricType: "Value",
        metadata: {
          serverAddress: "http://prometheus-operated.monitoring:9090",
          threshold: "50",
          ignoreNullValues: "false",
          query,
        },
      },
    ],
  });
  expect(query).toContain("temporal_worker_task_slots_available{");
  const selected = [...new Set(selectorsOf(query).map((each) => each.replace(/^\w+/, "")))];
  expect(selected).toEqual([
    '{job="meguri-worker",release="shop/meguri",namespace="shop",task_queue="shop"}',
  ]);
  expect(unknownNames(query)).toEqual([]);
  for (const kind of ["server", "worker"] as const) {
    expect(controllers[kind].spec).not.toHaveProperty("replicas");
  }
});

test("everything is scraped as alerts and dashboard expect", async () => {
  const release = await releaseOf("everything");
  for (const [kind, port] of [
    ["server", "operators"],
    ["worker", "metrics"],
    ["events", "metrics"],
  ] as const) {
    const { spec, metadata } = release.of("ServiceMonitor", kind);
    expect(metadata.labels.release).toBe("prometheus");
    const selector = matchLabelsOf(release.controllers[kind]);
    expect(spec).toEqual({
      selector: { matchLabels: selector },
      namespaceSelector: { matchNames: ["shop"] },
      endpoints: [
        {
          port,
          interval: "15s",
          honorLabels: true,
          relabelings: [
            { targetLabel: "job", replacement: `meguri-${kind}` },
            { targetLabel: "release", replacement: "shop/meguri" },
          ],
        },
      ],
    });
    const services = release.objects.filter(
      (each) =>
        each.kind === "Service" && each.metadata.labels["app.kubernetes.io/component"] === kind,
    );
    const scraped = services.filter((each) =>
      each.spec.ports.some(({ name }: KubernetesObject) => name === port),
    );
    expect(scraped.length).toBe(1);
    expect(scraped[0].metadata.labels).toMatchObject(selector);
  }
});

test("everything brings the alerts and the dashboard, with links of its own", async () => {
  const release = await releaseOf("everything");
  const read = (file: string) =>
    readFileSync(`${projectRoot}deploy/${file}`, "utf8")
      .replaceAll("https://docs.example", "https://git.shop.example/meguri/docs")
      .replaceAll("https://grafana.example", "https://grafana.shop.example")
      .replaceAll(
        "https://temporal.example/namespaces/default",
        "https://temporal.shop.example/namespaces/shop",
      );
  const { spec, metadata } = release.of("PrometheusRule", "rules");
  expect(spec).toEqual(parse(read("prometheus/rules.yml")));
  expect(metadata.labels.release).toBe("prometheus");
  const dashboard = release.of("ConfigMap", "dashboard");
  expect(JSON.parse(dashboard.data["meguri.json"])).toEqual(
    JSON.parse(read("grafana/meguri.json")),
  );
  expect(dashboard.metadata.labels.grafana_dashboard).toBe("1");
});

test("everything names the role of each process in AWS", async () => {
  const release = await releaseOf("everything");
  for (const kind of kinds) {
    const { annotations } = release.of("ServiceAccount", kind).metadata;
    const role = `arn:aws:iam::123456789012:role/meguri-${kind}`;
    expect(annotations["eks.amazonaws.com/role-arn"]).toBe(role);
  }
});

test("a command of an operator is a job of its own, and there is none without one", async () => {
  const command = ["node", "tools/restore/main.ts", "--repair"];
  const roleArn = "arn:aws:iam::123456789012:role/meguri-restore";
  const config = { MEGURI_TABLE_PREFIX: "restored-" };
  const objects = await render("everything", { config, tools: { command, roleArn } }, folder);
  const release = readRelease(objects, folder);
  const { backoffLimit, template } = release.of("Job", "tools").spec;
  expect(backoffLimit).toBe(0);
  const [container] = template.spec.containers;
  expect(container.command).toEqual(command);
  const env = environmentOf(template.spec, container, folder);
  expect(readConfig(env, "setup").tablePrefix).toBe("restored-");
  const { annotations } = release.of("ServiceAccount", "tools").metadata;
  expect(annotations["eks.amazonaws.com/role-arn"]).toBe(roleArn);
  const without = await releaseOf("everything");
  expect(without.objects.filter(({ metadata }) => metadata.name === "meguri-tools")).toEqual([]);
});

test("everything keeps the files of one Secret in one volume", async () => {
  const release = await releaseOf("everything");
  const { tls } = readConfig(release.envOf("server"), "server");
  expect(tls).toBeDefined();
  const { volumeMounts } = release.containerOf("server");
  const paths = volumeMounts.map(({ mountPath }: KubernetesObject) => mountPath);
  expect(paths.filter((path: string) => path.endsWith("/meguri-tls")).length).toBe(1);
  expect(release.containerOf("worker").volumeMounts).not.toContainEqual(
    expect.objectContaining({ mountPath: "/etc/meguri/secrets/meguri-tls" }),
  );
});

test("only workers have the keys and folders of sources and exports", async () => {
  const release = await releaseOf("everything");
  const mounted = (kind: "server" | "worker") =>
    release
      .containerOf(kind)
      .volumeMounts.map(({ mountPath }: KubernetesObject) => mountPath)
      .filter((path: string) => /^\/var\/|google/.test(path));
  expect(mounted("worker")).toEqual(["/etc/meguri/google", "/var/sheets", "/var/exports"]);
  expect(mounted("server")).toEqual([]);
});

test("only events processes have the subscriptions, and no secrets of the others", async () => {
  const release = await releaseOf("everything");
  const mounted = kinds.map((kind) => [
    kind,
    release
      .containerOf(kind)
      .volumeMounts.map(({ mountPath }: KubernetesObject) => mountPath)
      .filter((path: string) => /subscriptions$|webhooks$/.test(path)),
  ]);
  expect(Object.fromEntries(mounted)).toEqual({
    setup: [],
    events: ["/etc/meguri/config/meguri-subscriptions", "/etc/meguri/webhooks"],
    worker: [],
    server: [],
  });
  const secrets = Object.keys(release.envOf("events")).filter((name) =>
    settable.secrets.includes(name),
  );
  expect(secrets).toEqual(["OTEL_EXPORTER_OTLP_HEADERS"]);
});

test("no events process runs where nobody needs events", async () => {
  const { controllers } = readRelease(
    await render("eks", { events: { replicas: 0 } }, folder),
    folder,
  );
  expect(controllers.events.spec.replicas).toBe(0);
});

test("an empty value is left out, and the defaults of the processes hold", async () => {
  const empty = { MEGURI_DRAIN_SECONDS: "", MEGURI_LOG_LEVEL: "", MEGURI_TASK_QUEUE: "" };
  const { envOf, podOf } = readRelease(await render("eks", { config: empty }, folder), folder);
  const env = envOf("server");
  expect(Object.keys(empty).filter((name) => name in env)).toEqual([]);
  const { drainSeconds, taskQueue } = readConfig(env, "server");
  expect({ drainSeconds, taskQueue }).toEqual({ drainSeconds: 20, taskQueue: "meguri" });
  expect(podOf("server").terminationGracePeriodSeconds).toBeGreaterThan(25);
});

test("a drain of 0 is a drain of 0", async () => {
  const none = { config: { MEGURI_DRAIN_SECONDS: 0 } };
  const { podOf, envOf } = readRelease(await render("eks", none, folder), folder);
  expect(readConfig(envOf("server"), "server").drainSeconds).toBe(0);
  expect(podOf("worker").terminationGracePeriodSeconds).toBe(15);
});

test("servers can keep the image before, and start without waiting, for a step back", async () => {
  const values = { server: { imageTag: "0.0.9", awaitWorkers: false } };
  const { podOf, containerOf } = readRelease(await render("eks", values, folder), folder);
  expect(containerOf("server").image).toMatch(/:0\.0\.9$/);
  expect(containerOf("worker").image).toMatch(/:0\.1\.0$/);
  expect(podOf("server").initContainers).toBeUndefined();
});
