/** Starts Envoy with the recipe of deploy/envoy, in front of servers of a test. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { adopt, waitUntilReady } from "../../../tools/dev/stack/child.ts";
import { projectRoot } from "../markdown.ts";
import { findPythonTool } from "./python-tools.ts";

export const recipeFile = `${projectRoot}deploy/envoy/envoy.yaml`;

export interface Envoy {
  readonly port: number;
  /** How many servers its health checks find healthy. */
  healthyServers(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts one on a free port of loopback. All else is as in the recipe, but for the addresses of the
 * servers, which are these ports of loopback, and a ring that follows their health at once. Waits
 * until it has found all of them healthy.
 */
export async function startEnvoy(serverPorts: readonly number[]): Promise<Envoy> {
  const folder = mkdtempSync(join(tmpdir(), "meguri-envoy-"));
  const recipe = parse(readFileSync(recipeFile, "utf8"));
  const { listeners, clusters } = recipe.static_resources;
  const loopback = (port_value: number) => ({
    socket_address: { address: "127.0.0.1", port_value },
  });
  recipe.admin.address = loopback(0);
  listeners[0].address = loopback(0);
  clusters[0].load_assignment.endpoints[0].lb_endpoints = serverPorts.map((port) => ({
    endpoint: { address: loopback(port) },
  }));
  // Envoy collects changes of health for a second before its ring follows, and tells them at once.
  clusters[0].common_lb_config = { ...clusters[0].common_lb_config, update_merge_window: "0s" };
  const file = join(folder, "envoy.json");
  writeFileSync(file, JSON.stringify(recipe));
  const adminFile = join(folder, "admin");
  const args = ["--config-path", file, "--admin-address-path", adminFile, "--concurrency", "1"];
  const process_ = spawn(await findPythonTool("envoy"), [...args, "--disable-hot-restart"], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const child = await adopt(process_, { name: "Envoy" });
  const ask = async (page: string) =>
    (await fetch(`http://${readFileSync(adminFile, "utf8")}${page}`)).text();
  const healthyServers = async () =>
    Number((await ask("/stats?filter=membership_healthy")).match(/: (\d+)\n/)?.[1]);
  const isReady = async () =>
    existsSync(adminFile) && (await healthyServers()) === serverPorts.length;
  await waitUntilReady(child, () => isReady().catch(() => false));
  const [listener] = JSON.parse(await ask("/listeners?format=json")).listener_statuses;
  return {
    port: listener.local_address.socket_address.port_value,
    healthyServers,
    async stop() {
      await child.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
