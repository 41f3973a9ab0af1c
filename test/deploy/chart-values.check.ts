/** Checks that Helm refuses values that are wrong, and says which and why. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { render } from "../support/deploy/chart.ts";

const folder = mkdtempSync(join(tmpdir(), "meguri-chart-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Each kind of wrong value, and what Helm says about it. */
test.each([
  [{ image: { tag: "" } }, /image\/tag.*length/i],
  [{ image: { repository: "" } }, /image\/repository.*length/i],
  [{ worker: { replica: 3 } }, /worker.*'replica' not allowed/],
  [{ config: { MEGURI_DRAIN_SECOND: 30 } }, /config.*'MEGURI_DRAIN_SECOND' not allowed/],
  [{ config: { MEGURI_PORT: 9090 } }, /config.*'MEGURI_PORT' not allowed/],
  [{ config: { MEGURI_TEST_CLOCK: "1" } }, /config.*'MEGURI_TEST_CLOCK' not allowed/],
  [{ config: { MEGURI_SLACK_WEBHOOK_URL: "https://a" } }, /'MEGURI_SLACK_WEBHOOK_URL' not allowed/],
  [{ config: { AWS_SECRET_ACCESS_KEY: "key" } }, /'AWS_SECRET_ACCESS_KEY' not allowed/],
  [{ config: { MEGURI_CALLERS_FILE: "/callers" } }, /'MEGURI_CALLERS_FILE' not allowed/],
  [{ secrets: { MEGURI_ANNOUNCE_URL: "redis://a" } }, /MEGURI_ANNOUNCE_URL.*want object/],
  [{ files: { MEGURI_TLS_KEY_FILE: { key: "tls.key" } } }, /MEGURI_TLS_KEY_FILE.*minProperties/],
  [{ worker: { mounts: [{ path: "sheets", secret: "a" }] } }, /mounts\/0\/path.*pattern/],
  [{ config: { MEGURI_AUTH: "none" } }, /MEGURI_AUTH.*'jwt', 'mtls'/],
  [{ config: { MEGURI_AUTH: "mtls" } }, /files.*missing propert.*MEGURI_CALLERS_FILE/],
  [{ config: { MEGURI_JWT_ISSUER: null } }, /config.*missing property 'MEGURI_JWT_ISSUER'/],
  [{ config: { MEGURI_JWKS_URL: "" } }, /needs config\.MEGURI_JWKS_URL or files/],
  [{ config: { MEGURI_TEMPORAL_ADDRESS: "https://a:7233" } }, /MEGURI_TEMPORAL_ADDRESS.*pattern/],
  [{ config: { MEGURI_TEMPORAL_ADDRESS: null } }, /missing property 'MEGURI_TEMPORAL_ADDRESS'/],
  [{ config: { MEGURI_DYNAMODB_ENDPOINT: "dynamodb" } }, /MEGURI_DYNAMODB_ENDPOINT.*pattern/],
  [{ config: { MEGURI_DRAIN_SECONDS: 601 } }, /MEGURI_DRAIN_SECONDS.*maximum/],
  [{ config: { MEGURI_DRAIN_SECONDS: "20s" } }, /MEGURI_DRAIN_SECONDS.*pattern/],
  [{ server: { replicas: 0 } }, /server\/replicas.*minimum/],
  [{ events: { autoscaling: {} } }, /events.*'autoscaling' not allowed/],
  [
    { events: { mounts: [{ path: "/meguri/src", secret: "a" }] } },
    /mounts and extraVolumeMounts: \/meguri\/src is for files of the image/,
  ],
  [{ server: { imageTag: "0.0.9" } }, /server\.awaitWorkers: .*one imageTag/],
  [{ worker: { imageTag: "0.2.0" } }, /server\.awaitWorkers: .*one imageTag/],
  [{ server: { roleArn: "meguri-server" } }, /server\/roleArn.*pattern/],
  [{ server: { autoscaling: { cpuPercent: 600 } } }, /cpuPercent.*maximum/],
  [{ server: { autoscaling: { enabled: true, minReplicas: 20 } } }, /above maxReplicas/],
  [{ worker: { autoscaling: { enabled: true } } }, /prometheus is required/],
  [
    { worker: { autoscaling: { enabled: true, prometheus: "http://a" } } },
    /serviceMonitors is required/,
  ],
  [{ networkPolicy: { callers: [{}] } }, /callers\/0.*minProperties/],
  [{ networkPolicy: { egressPorts: ["6379"] } }, /egressPorts\/0.*want integer/],
  [{ podLabels: { "app.kubernetes.io/name": "shop" } }, /podLabels\/app.kubernetes.io.*false/],
  [{ worker: { podLabels: { "helm.sh/chart": "shop" } } }, /worker\/podLabels\/helm.sh.*false/],
  [{ extraEnv: [{ name: "MEGURI_PORT", value: "9090" }] }, /extraEnv\/0\/name.*not/],
  [{ server: { extraEnv: [{ name: "NODE_ENV", value: "test" }] } }, /extraEnv\/0\/name.*not/],
  [{ extraEnv: [{ name: "AWS_REGION", value: "a" }] }, /extraEnv: AWS_REGION is in config or secr/],
  [
    { worker: { extraVolumeMounts: [{ name: "a", mountPath: "/meguri" }] } },
    /extraVolumeMounts: \/meguri is for files of the image/,
  ],
  [
    { extraVolumeMounts: [{ name: "a", mountPath: "/etc/meguri/secrets/meguri-tls/" }] },
    /: \/etc\/meguri\/secrets\/meguri-tls\/ is for files of the image/,
  ],
  [
    { worker: { mounts: [{ path: "/etc/meguri", secret: "a" }] } },
    /: \/etc\/meguri is for files of the image/,
  ],
  [{ setup: { extraContainers: [{ name: "a" }] } }, /setup.*'extraContainers' not allowed/],
  [{ affinity: { podAffinty: {} } }, /affinity.*'podAffinty' not allowed/],
  [{ fullnameOverride: "a".repeat(63) }, /fullnameOverride.*pattern/],
  [{ fullnameOverride: "Points" }, /fullnameOverride.*pattern/],
  [{ nameOverride: "a-name-of-more-than-20" }, /nameOverride.*pattern/],
  [{ service: { type: "ExternalName" } }, /service\/type.*'ClusterIP'/],
  [{ ingress: { enabled: true } }, /ingress\/hosts.*minItems/],
  [{ ingress: { servicePort: "operators" } }, /ingress\/servicePort.*'grpc', 'http1'/],
  [
    { ingress: { enabled: true, hosts: [{ host: "https://a.example" }] } },
    /hosts\/0\/host.*pattern/,
  ],
  [{ ingress: { enabled: true, hosts: [{ host: "a.example:443" }] } }, /hosts\/0\/host.*pattern/],
  [{ gateway: { httpRoute: { hostnames: ["a_b.example"] } } }, /hostnames\/0.*pattern/],
  [{ gateway: { grpcRoute: { enabled: true } } }, /grpcRoute\/parentRefs.*minItems/],
  [{ monitoring: { rules: "yes" } }, /monitoring\/rules.*want boolean/],
])("values with %j are refused", async (values, message) => {
  await expect(render("eks", values, folder)).rejects.toThrow(message);
});

test("a route of a gateway is refused where servers verify certificates of clients", async () => {
  const values = { gateway: { httpRoute: { enabled: true, parentRefs: [{ name: "a" }] } } };
  const message = /gateway: needs MEGURI_AUTH jwt/;
  await expect(render("everything", values, folder)).rejects.toThrow(message);
});
