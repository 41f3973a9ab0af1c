/** Shows which values of variables are in force, without secrets. */
import { defaults, type ProcessKind, reads, setVariables } from "./config.ts";

const secrets: readonly string[] = ["MEGURI_SLACK_WEBHOOK_URL"];

const hidden = "***";

/** One line for each variable of a process that is set or has a default. */
export function valuesInForce(env: NodeJS.ProcessEnv, kind: ProcessKind): string[] {
  const given = setVariables(env);
  return [...defaults].flatMap(([name, byDefault]) => {
    if (!reads(kind, name)) return [];
    const value = given[name];
    if (value !== undefined) return [`${name}=${withoutSecrets(name, value)}`];
    return byDefault === undefined ? [] : [`${name}=${byDefault} (default)`];
  });
}

/** Hides secrets, and what a URL may have of them: the password and the query. */
function withoutSecrets(name: string, value: string): string {
  if (secrets.includes(name)) return hidden;
  const url = /^\w+:\/\//.test(value) ? URL.parse(value) : null;
  if (url === null || (url.password === "" && url.search === "")) return value;
  if (url.password !== "") url.password = hidden;
  if (url.search !== "") url.search = hidden;
  return url.href;
}
