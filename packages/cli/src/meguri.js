#!/usr/bin/env node
/** Starts the command. It is plain JavaScript, because an older Node cannot load TypeScript. */
const [major = 0] = process.versions.node.split(".").map(Number);
if (major >= 24) {
  await import("./main.ts");
} else {
  console.error(`meguri: needs Node 24 or newer, and this is ${process.version}`);
  process.exitCode = 2;
}
