/** Finds or unpacks Chromium, and starts it without a window. */
import { createReadStream, createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { type Browser, launch } from "puppeteer-core";
import { findTool } from "../../../tools/dev/stack/cached-tools.ts";
import { projectRoot } from "../markdown.ts";
import { sayOnce } from "../say-once.ts";

/** Has Chromium as one compressed file, made for machines that have few libraries. */
const npmPackage = `${projectRoot}node_modules/@sparticuz/chromium`;
const { version } = JSON.parse(readFileSync(`${npmPackage}/package.json`, "utf8"));

/** Starts the Chromium of the npm package, which is unpacked once. */
export async function startChromium(): Promise<Browser> {
  const command = "chromium";
  const executablePath = await findTool(
    {
      command,
      title: "Chromium",
      version,
      versionArgs: ["--version"],
      folder: `chromium-${version}`,
      async fetch(folder) {
        const file = join(folder, command);
        const packed = createReadStream(`${npmPackage}/bin/chromium.br`);
        await pipeline(packed, createBrotliDecompress(), createWriteStream(file, { mode: 0o755 }));
        return file;
      },
    },
    sayOnce,
  );
  // A container has neither the right to make a sandbox nor a graphics card.
  return launch({ executablePath, headless: "shell", args: ["--no-sandbox", "--disable-gpu"] });
}
