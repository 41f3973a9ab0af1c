/**
 * The stored items and the histories of the previous version, by the list in test/previous. A file
 * that has not changed since then is that of today; of one that has changed, the old one is beside
 * the list.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

const root = `${import.meta.dirname}/../../..`;
const folder = "test/previous";
const listFile = `${root}/${folder}/files.txt`;

/** What a version leaves to the next one. */
const left = ["test/platform/dynamodb/stored-items.txt", "test/temporal/histories"];

/** Returns the commit of the list, and what is in the file of each path. */
export function previousFiles(): { commit: string; files: ReadonlyMap<string, Buffer> } {
  const { commit, entries } = readList();
  return {
    commit,
    files: new Map(entries.map(([hash, path]) => [path, find(commit, hash, path)])),
  };
}

function readList() {
  const [commit = "", ...lines] = readFileSync(listFile, "utf8").trimEnd().split("\n");
  return { commit, entries: lines.map((line) => line.split(" ") as [hash: string, path: string]) };
}

const keptFile = (path: string): string => `${folder}/${basename(path)}`;

function find(commit: string, hash: string, path: string): Buffer {
  for (const place of [path, keptFile(path)]) {
    const file = `${root}/${place}`;
    const content = existsSync(file) ? readFileSync(file) : undefined;
    if (content && gitHash(content) === hash) return content;
  }
  throw new Error(
    `${path} has changed since the previous version, of which it has to be kept: ` +
      `git show ${commit}:${path} > ${keptFile(path)}`,
  );
}

/** The name that git gives to the content of a file. */
const gitHash = (content: Buffer): string =>
  createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");

/** Lists the files of a commit, which becomes the previous version, and keeps no older ones. */
export function listFiles(commit: string): void {
  for (const [, path] of readList().entries) rmSync(`${root}/${keptFile(path)}`, { force: true });
  const args = ["ls-tree", "-r", "--format=%(objectname) %(path)", commit, ...left];
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8" });
  writeFileSync(listFile, `${commit}\n${listed}`);
}
