/** Drives the example page of docs/call/notifications.md in Chromium, against a real server. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createMeguri, type Meguri } from "@meguri/client";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { people } from "../../examples/feed/comments.ts";
import { startFeed } from "../../examples/feed/server.ts";
import { createSigner } from "../../examples/feed/tokens.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { codeNamed } from "../support/markdown.ts";
import { startChromium } from "../support/servers/chromium.ts";
import { startMemoryServer } from "../support/servers/server.ts";

const ownerId = "member-1001";

let browser: Browser;
let origin: string;
/** Meguri for the service of the page, and for Aoi. */
let meguri: Meguri;
let meguriOfAoi: Meguri;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "feed-"));
  cleanups.push(() => rm(folder, { recursive: true }));
  const { privateKey, publicKey } = generateKeyPairSync("ed25519", {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const keyFile = join(folder, "key.pem");
  await writeFile(keyFile, publicKey);
  const [port] = await findPorts(0);
  origin = `http://127.0.0.1:${port}`;
  const server = await startMemoryServer({
    ...shownVariables(),
    MEGURI_JWT_KEY_FILE: keyFile,
    MEGURI_CORS_ORIGINS: origin,
  });
  cleanups.push(server.stop);
  const meguriUrl = `http://127.0.0.1:${server.port}`;
  const browserUrl = `http://127.0.0.1:${server.http1Port}`;
  cleanups.push(await startFeed({ port, meguriUrl, browserUrl, privateKey }));
  const signer = createSigner(privateKey);
  meguri = createMeguri({ url: meguriUrl, token: signer.serviceToken });
  meguriOfAoi = createMeguri({ url: meguriUrl, token: () => signer.tokenOf(ownerId) });
  cleanups.push(meguri.close, meguriOfAoi.close);
  browser = await startChromium();
  cleanups.push(() => browser.close());
});

afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

/** The variables with which the page of the docs starts Meguri. */
function shownVariables(): Record<string, string> {
  const variables = codeNamed("docs/call/notifications.md", "feed").matchAll(/(MEGURI_\w+)=(\S+)/g);
  return Object.fromEntries(Array.from(variables, ([, name, value]) => [name, value]));
}

/** The pages of Aoi, who owns the post, and of Ben. */
let aoi: Page;
let ben: Page;
beforeEach(async () => {
  aoi = await open(ownerId);
  ben = await open("member-1002");
});
afterEach(async () => {
  await aoi.close();
  await ben.close();
  // Without its events a notification ends, unread or read.
  const { notifications } = await meguriOfAoi.notifications.listNotifications({ ownerId });
  for (const { eventId } of notifications.flatMap(({ latestEvents }) => latestEvents)) {
    await meguri.notifications.retractEvent({ eventId, ownerIds: [ownerId] });
  }
});

async function open(personId: string, lang = "en"): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(`${origin}/?person=${personId}&lang=${lang}`);
  await page.waitForSelector(".open");
  return page;
}

const click = (page: Page, button: string) => page.locator(`.${button}`).click();

/** Comments on Aoi's post as somebody who has no page. */
const comment = (userId: string, eventId: string) =>
  meguri.notifications.notify({
    eventId,
    targetName: { type: "post", id: "first-bonsai" },
    kind: "comment",
    userId,
    displayName: people.get(userId) ?? userId,
  });

/** Deletes the first comment of the page, and waits until its service has answered. */
async function deleteComment(page: Page): Promise<void> {
  const { length } = await textsOf(page, ".delete");
  await click(page, "delete");
  await expect.poll(() => textsOf(page, ".delete")).toHaveLength(length - 1);
}

/** The id of the notification that the selector finds. */
const idOf = (page: Page, selector: string) =>
  page.$eval(selector, (item) => item.getAttribute("data-id"));

/** The texts of all elements of the page that the selector finds. */
const textsOf = (page: Page, selector: string): Promise<string[]> =>
  page.$$eval(selector, (found) => found.map(({ textContent }) => textContent));

/** Waits until these are the texts. */
const expectTexts = (page: Page, selector: string, texts: readonly string[]) =>
  expect.poll(() => textsOf(page, selector)).toEqual(texts);

test("a comment shows on the badge, opening the list clears it, a click reads it", async () => {
  await expectTexts(aoi, "#badge", [""]);
  await click(ben, "comment");
  await expectTexts(aoi, "#badge", ["1"]);
  await click(aoi, "open");
  await expectTexts(aoi, ".unread > a", ["Ben commented on “My first bonsai”"]);
  await expectTexts(aoi, "#badge", [""]);

  await click(aoi, "who");
  await expectTexts(aoi, ".people bdi", ["Ben"]);
  await click(aoi, "mark-read");
  await expectTexts(aoi, ".read > a", ["Ben commented on “My first bonsai”"]);
  await expectTexts(aoi, ".unread", []);
  await expectTexts(aoi, "#problem", [""]);
});

test("a click reads those who were there, by a name that stays", async () => {
  await comment("member-1002", "first");
  await click(aoi, "open");
  await expectTexts(aoi, ".unread > a", ["Ben commented on “My first bonsai”"]);
  await click(aoi, "mark-read");
  // The answer is the read notification, whose people the page shows at once.
  await expectTexts(aoi, ".read .people bdi", ["Ben"]);
  const clicked = await idOf(aoi, ".read");

  await comment("member-1003", "second");
  await expectTexts(aoi, ".unread > a", ["千恵 commented on “My first bonsai”"]);
  expect(await idOf(aoi, ".read")).toBe(clicked);
  expect(await idOf(aoi, ".unread")).not.toBe(clicked);
  await aoi.locator(".read .who").click();
  await expectTexts(aoi, ".people bdi", ["Ben"]);
});

test("comments of one person are counted, and leave when they are deleted", async () => {
  for (let count = 1; count <= 3; count++) {
    await click(ben, "comment");
    await expect.poll(() => textsOf(ben, ".delete")).toHaveLength(count);
  }
  await click(aoi, "open");
  await expectTexts(aoi, ".unread > a", ["Ben left 3 comments on “My first bonsai”"]);
  await click(aoi, "who");
  await expectTexts(aoi, ".people bdi", ["Ben", "Ben", "Ben"]);
  const [link] = await aoi.$$eval(".people a", (links) => links.map(({ href }) => href));
  expect(link).toMatch(`${origin}/posts/first-bonsai#`);

  // The badge has the same numbers after the first two, so only the owner refreshes the list.
  for (const left of ["Ben left 2 comments on", "Ben commented on"]) {
    await deleteComment(ben);
    await click(aoi, "open");
    await expectTexts(aoi, ".unread > a", [`${left} “My first bonsai”`]);
  }
  await deleteComment(ben);
  await expectTexts(aoi, ".unread", []);
  await expectTexts(aoi, "#badge", [""]);
});

test("a read notification becomes unread again, and a dismissed one ends", async () => {
  await comment("member-1002", "kept");
  await click(aoi, "open");
  await expectTexts(aoi, ".unread > a", ["Ben commented on “My first bonsai”"]);
  await click(aoi, "mark-read");
  await expect.poll(() => textsOf(aoi, ".read")).toHaveLength(1);
  const clicked = await idOf(aoi, ".read");
  await click(aoi, "mark-unread");
  await expect.poll(() => textsOf(aoi, ".unread")).toHaveLength(1);
  expect(await idOf(aoi, ".unread")).toBe(clicked);
  await click(aoi, "dismiss");
  await expectTexts(aoi, "#empty", ["No notifications yet"]);
  await expectTexts(aoi, "#problem", [""]);
  await expectTexts(aoi, "#badge", [""]);
  await meguri.notifications.retractEvent({ eventId: "kept", ownerIds: [ownerId] });
});

test("a person who is blocked leaves, and notifies no more", async () => {
  await comment("member-1002", "third");
  await comment("mallory", "fourth");
  await click(aoi, "open");
  await expectTexts(aoi, ".unread > a", ["Ben and mallory commented on “My first bonsai”"]);
  await click(aoi, "who");
  await expectTexts(aoi, ".people bdi", ["mallory", "Ben"]);
  await click(aoi, "block");
  await expectTexts(aoi, ".unread > a", ["Ben commented on “My first bonsai”"]);
  await comment("mallory", "fifth");
  await comment("member-1003", "sixth");
  await expectTexts(aoi, ".unread > a", ["Ben and 千恵 commented on “My first bonsai”"]);
});

test("an empty list says so, in the language of the page", async () => {
  const japanese = await open("member-1003", "ja");
  await click(japanese, "open");
  await expectTexts(japanese, "#empty", ["お知らせはまだありません"]);
  expect(await japanese.title()).toBe("お知らせ");
  await japanese.close();
});

test("what has failed is shown until it succeeds", async () => {
  await aoi.setOfflineMode(true);
  await click(aoi, "open");
  await expect.poll(() => textsOf(aoi, "#problem")).not.toEqual([""]);
  await aoi.setOfflineMode(false);
  await click(aoi, "open");
  await expectTexts(aoi, "#empty", ["No notifications yet"]);
  await expectTexts(aoi, "#problem", [""]);
});

/** A script that keeps the next list from the page until the event `release`. */
const holdFirstList = `
  const realFetch = window.fetch;
  window.fetch = async (...args) => {
    const answer = await realFetch(...args);
    if (!String(args[0]).endsWith("/ListNotifications")) return answer;
    window.fetch = realFetch;
    await new Promise((resolve) => document.addEventListener("release", resolve));
    return answer;
  };`;

test("a slow list does not replace a later one", async () => {
  await aoi.evaluate(holdFirstList);
  const answered = aoi.waitForResponse((response) => response.url().endsWith("/ListNotifications"));
  await click(aoi, "open");
  await answered;
  await comment("member-1002", "later");
  const sentences = ["Ben commented on “My first bonsai”"];
  await expectTexts(aoi, ".unread > a", sentences);
  const seen = aoi.waitForResponse((response) => response.url().endsWith("/MarkNotificationsSeen"));
  await aoi.evaluate("document.dispatchEvent(new Event('release'))");
  await seen;
  expect(await textsOf(aoi, ".unread > a")).toEqual(sentences);
});

test("a long title makes no narrow page wider", async () => {
  const targetName = { type: "post", id: "long" };
  await meguri.reactions.registerTarget({ targetName, ownerId, title: "W".repeat(96), link: "/w" });
  const event = { targetName, kind: "comment", userId: "eve", displayName: "Eve" };
  await meguri.notifications.notify({ ...event, eventId: "long" });
  await aoi.setViewport({ width: 360, height: 640 });
  await click(aoi, "open");
  await expect.poll(() => textsOf(aoi, ".unread > a")).toHaveLength(1);
  expect(await aoi.evaluate("document.documentElement.scrollWidth")).toBe(360);
});

test("a request that is no address and a person whom nobody knows are refused", async () => {
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.end("GET // HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /);
  const nobody = await browser.newPage();
  await nobody.goto(`${origin}/?person=nobody`);
  await expectTexts(nobody, "#problem", ["Error: nobody has this id"]);
  await nobody.close();
});

test("names and titles of strangers are text, each with a direction of its own", async () => {
  const targetName = { type: "post", id: "hostile" };
  const title = "<img src=x onerror=alert(1)>";
  await meguri.reactions.registerTarget({ targetName, ownerId, title });
  const event = { targetName, kind: "comment", userId: "eve", displayName: "<b>محمد</b>" };
  await meguri.notifications.notify({ ...event, eventId: "hostile" });
  const japanese = await open(ownerId, "ja");
  await click(japanese, "open");
  const shown = `<b>محمد</b>さんが「${title}」にコメントしました`;
  await expectTexts(japanese, ".unread > span", [shown]);
  await expectTexts(japanese, ".unread > span > bdi", ["<b>محمد</b>", title]);
  await japanese.close();
});
