#!/usr/bin/env node
/** Starts the command. It is plain JavaScript, so that every Node can say that it is too old. */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major > 22 || (major === 22 && minor >= 12)) {
  await import("./main.ts");
} else {
  console.error(`meguri: needs Node 22.12 or newer, and this is ${process.version}`);
  process.exitCode = 2;
}
