/** Tests which servers a client knows and which one it picks. */
import type { LookupAddress } from "node:dns";
import { afterEach, expect, test } from "vitest";
import { createServers, type Server, type Servers } from "../../packages/client/src/servers.ts";

const open: Servers[] = [];
afterEach(() => {
  for (const servers of open.splice(0)) servers.close();
});

type Resolve = NonNullable<Parameters<typeof createServers>[1]>;

function create(url: string | string[], resolve?: Resolve): Servers {
  const servers = createServers({ url }, resolve);
  open.push(servers);
  return servers;
}

const address = (text: string): LookupAddress => ({
  address: text,
  family: text.includes(":") ? 6 : 4,
});

/** The servers that serve 100 keys. */
async function idsOf(servers: Servers): Promise<string[]> {
  const picks = Array.from({ length: 100 }, (_, i) => servers.pick(`a/default/u${i}`));
  return [...new Set((await Promise.all(picks)).map(({ id }) => id))].sort();
}

test("a name that resolves to several addresses counts as several servers", async () => {
  const servers = create("http://meguri:8080", async () => ["10.0.0.1", "10.0.0.2"].map(address));
  expect(await idsOf(servers)).toEqual(["10.0.0.1:8080", "10.0.0.2:8080"]);
});

test("a server with both kinds of addresses counts once", async () => {
  const servers = create("https://meguri", async () => ["fd00::1", "10.0.0.1"].map(address));
  expect(await idsOf(servers)).toEqual(["10.0.0.1:443"]);
});

test("two clients send a key to the same server, whatever the order of their addresses", () => {
  const urls = [1, 2, 3, 4].map((i) => `http://10.0.0.${i}:8080`);
  const [one, other] = [create(urls), create([...urls].reverse())];
  for (let i = 0; i < 100; i++) {
    expect((one.pick(`o/${i}`) as Server).id).toBe((other.pick(`o/${i}`) as Server).id);
  }
});

test("calls without a key take turns", () => {
  const servers = create(["http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1"]);
  const ids = Array.from({ length: 6 }, () => (servers.pick(undefined) as Server).id);
  expect(new Set(ids.slice(0, 3)).size).toBe(3);
  expect(ids.slice(3)).toEqual(ids.slice(0, 3));
});

test("a server that is left out or to be skipped is not picked while there is another", () => {
  const servers = create(["http://10.0.0.1:1", "http://10.0.0.2:1"]);
  const first = servers.pick("k") as Server;
  const second = servers.pick("k", new Set([first])) as Server;
  expect(second).not.toBe(first);
  servers.leaveOut(first);
  expect(servers.pick("k")).toBe(second);
  expect(servers.hasOther(new Set([second]))).toBe(false);
  servers.leaveOut(second);
  expect(servers.pick("k")).toBe(first);
  expect(servers.pick("k", new Set([first]))).toBe(second);
});

test("a name that does not resolve is tried again by the next call", async () => {
  let isUp = false;
  const servers = create("http://meguri:1", async () => {
    if (!isUp) throw new Error("ENOTFOUND");
    return [address("10.0.0.1")];
  });
  await expect(servers.pick("k")).rejects.toThrow("[unavailable] ENOTFOUND");
  isUp = true;
  expect((await servers.pick("k")).id).toBe("10.0.0.1:1");
});

test("what is no address of HTTP is refused", () => {
  expect(() => create([])).toThrow(TypeError);
  for (const url of ["meguri:8080", "127.0.0.1:8080", "ftp://meguri"]) {
    const text = `url: ${url} does not begin with http:// or https://`;
    expect(() => create(url)).toThrow(new TypeError(text));
  }
  expect(() => create("http://")).toThrow(new TypeError("url: http:// is no URL"));
});
