/** Source strings: the name of a source, `/`, a path and, of a new file, `#` and its version. */

/** The parts of a source string. */
interface SourceString {
  readonly name: string;
  readonly path: string;
  /** The first 12 hex digits of a SHA-256; absent when any content will do. */
  readonly version?: string | undefined;
}

const form = /^(?<name>[^/]+)\/(?<path>.+?)(#(?<version>[0-9a-f]{12}))?$/s;

/** Separates the parts; undefined when it is none. A `#` elsewhere is in the path. */
export function parseSource(source: string): SourceString | undefined {
  const { name = "", path = "", version } = form.exec(source)?.groups ?? {};
  return name ? { name, path, version } : undefined;
}

/** The source string as people read it. */
export function withoutVersion(source: string): string {
  const { name, path } = parseSource(source) ?? {};
  return name === undefined ? source : `${name}/${path}`;
}
