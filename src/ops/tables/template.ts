/** Reads the tables of a CloudFormation template with its functions and parameters. */
import { isMap, isNode, isScalar, isSeq, parseDocument } from "yaml";

type Values = Readonly<Record<string, unknown>>;

/** The parameters and conditions that the functions of a template refer to. */
interface Scope {
  readonly parameters: Values;
  readonly conditions: Values;
}

/**
 * Returns the properties of the DynamoDB tables of a template in their order. Parameters that are
 * not given have their defaults.
 *
 * @throws Error for a function that this program does not know, outside of loops.
 */
export function readTemplate(text: string, given: Values): readonly Values[] {
  const template = plain(parseDocument(text, { logLevel: "error" }).contents) as {
    readonly Parameters: Readonly<Record<string, { readonly Default?: unknown }>>;
    readonly Conditions: Values;
    readonly Resources: Readonly<Record<string, { readonly Type?: string; Properties?: Values }>>;
  };
  const defaults = Object.entries(template.Parameters).map(([name, { Default }]) => [
    name,
    Default,
  ]);
  const parameters = { ...Object.fromEntries(defaults), ...given };
  const scope = { parameters, conditions: template.Conditions };
  return Object.values(template.Resources)
    .filter(({ Type }) => Type === "AWS::DynamoDB::Table")
    .map(({ Properties }) => evaluate(Properties, scope) as Values);
}

/** Turns YAML into plain values: `!Sub text` becomes `{ "Fn::Sub": text }`, its long form. */
function plain(node: unknown): unknown {
  const value = withoutTag(node);
  const tag = isNode(node) && node.tag?.startsWith("!") ? node.tag.slice(1) : undefined;
  if (tag === undefined) return value;
  return { [tag === "Ref" ? tag : `Fn::${tag}`]: value };
}

function withoutTag(node: unknown): unknown {
  if (isScalar(node)) return node.value;
  if (isSeq(node)) return node.items.map(plain);
  if (!isMap(node)) return node;
  return Object.fromEntries(node.items.map(({ key, value }) => [String(key), plain(value)]));
}

/** Undefined stands for AWS::NoValue, which leaves its property out. */
function evaluate(node: unknown, scope: Scope): unknown {
  if (Array.isArray(node)) return node.map((each) => evaluate(each, scope));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node);
  const [name = "", argument] = entries[0] ?? [];
  if (name === "Ref" || name.startsWith("Fn::")) return call(name, argument, scope);
  const values = entries.map(([key, value]) => [key, evaluate(value, scope)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function call(name: string, argument: unknown, scope: Scope): unknown {
  const values = () => (argument as readonly unknown[]).map((each) => evaluate(each, scope));
  switch (name) {
    case "Ref":
      return argument === "AWS::NoValue" ? undefined : parameter(argument as string, scope);
    case "Fn::Sub":
      return String(argument).replaceAll(/\$\{(\w+)\}/g, (_, of) => String(parameter(of, scope)));
    case "Fn::Equals": {
      const [one, other] = values();
      return String(one) === String(other);
    }
    case "Fn::Not":
      return !values()[0];
    case "Fn::If": {
      const [condition, yes, no] = argument as readonly [string, unknown, unknown];
      return evaluate(evaluate(scope.conditions[condition], scope) ? yes : no, scope);
    }
    default:
      throw new Error(`the template has ${name}, which this program cannot evaluate`);
  }
}

function parameter(name: string, { parameters }: Scope): unknown {
  if (!(name in parameters)) throw new Error(`the template has no parameter ${name}`);
  return parameters[name];
}
