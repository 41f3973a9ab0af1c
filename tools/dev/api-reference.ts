/** Renders the reference of the API, a page a package, from the descriptors of the protos. */
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  hasOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { getComments } from "@bufbuild/protoplugin";
import {
  audited,
  body_limit,
  scope,
  time_limit,
} from "../../src/gen/meguri/access/v1/access_pb.ts";
import { rulesOf } from "./field-rules.ts";

/** A heading with its text. Types are linked by their full names. */
interface Section {
  readonly level: number;
  readonly title: string;
  readonly typeName: string;
  readonly body: (link: Link) => readonly string[];
}

/** A page has the services and types of one package. */
interface Page {
  readonly file: string;
  readonly sections: readonly Section[];
  /** The anchor of each section by the full name of what it is about. */
  readonly anchors: ReadonlyMap<string, string>;
}

/** Makes a link to the section of a type, or its name alone when it has no section. */
type Link = (typeName: string, text: string) => string;

const introduction = `# API reference

One page for each package of the contract, generated from \`proto/\` by \`npm run generate\`; edit
the comments there. The column "rule" has the constraints that protovalidate checks before the
server handles a request: a request that breaks one is refused with \`INVALID_REQUEST\`, which names
the field and says what it may be in the words of this column. So is a request that cannot be read:
JSON with an unknown field or a value of a wrong type. Unknown fields in Protobuf's binary format
are accepted, as newer clients send them. The meaning of every reason is in
[errors.md](../errors.md).`;

/** The pages by their file names: one for each package of the files, and an index. */
export function apiReference(files: readonly DescFile[]): ReadonlyMap<string, string> {
  const byName = files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const packages = Map.groupBy(byName, ({ proto }) => proto.package);
  const pages = [...packages].flatMap(([name, own]) => pageOf(name, own));
  const index = pages.map(({ sections }) => listOf(sections, linkFrom(undefined, pages), 1));
  return new Map([
    ["README.md", `${[introduction, index.join("\n")].join("\n\n")}\n`],
    ...pages.map((page): [string, string] => [page.file, render(page, linkFrom(page, pages))]),
  ]);
}

/** The page of a package; none of options and rules alone, which no message contains. */
function pageOf(name: string, files: readonly DescFile[]): Page[] {
  const sections = packageSections(name, files);
  const [, file = name] = name.split(".");
  return sections.length === 0
    ? []
    : [{ file: `${file}.md`, sections, anchors: anchorsOf(sections) }];
}

/** Links from a page to sections of its own and of other pages. */
function linkFrom(from: Page | undefined, pages: readonly Page[]): Link {
  return (typeName, text) => {
    const to = pages.find(({ anchors }) => anchors.has(typeName));
    if (to === undefined) return text;
    return `[${text}](${to === from ? "" : to.file}#${to.anchors.get(typeName)})`;
  };
}

function render({ sections }: Page, link: Link): string {
  const [first, ...texts] = sections.map(({ level, title, body }) =>
    [`${"#".repeat(level)} ${title}`, ...body(link)].filter((text) => text !== "").join("\n\n"),
  );
  return `${[first, listOf(sections.slice(1), link, 2), ...texts].join("\n\n")}\n`;
}

/** The sections as nested lists of links; those of `level` are not indented. */
const listOf = (sections: readonly Section[], link: Link, level: number): string =>
  sections
    .map((each) => `${"  ".repeat(each.level - level)}- ${link(each.typeName, each.title)}`)
    .join("\n");

function packageSections(name: string, files: readonly DescFile[]): Section[] {
  const services = files.flatMap((file) => file.services);
  const methods = services.flatMap((service) => service.methods);
  const inMethods = new Set(methods.flatMap(({ input, output }) => [input, output]));
  const types = files.flatMap((file) => [...nestedTypes(file)]);
  const sections = [
    ...services.flatMap(serviceSections),
    ...types.flatMap((type): Section[] => {
      if (type.kind !== "enum" && type.kind !== "message") return [];
      const heading = { level: 2, title: shortName(type), typeName: type.typeName };
      if (type.kind === "enum") return [{ ...heading, body: () => enumBody(type) }];
      if (inMethods.has(type)) return [];
      return [{ ...heading, body: (link) => [comment(type), fieldTable(type, link)] }];
    }),
  ];
  if (sections.length === 0) return [];
  return [{ level: 1, title: name, typeName: name, body: () => [] }, ...sections];
}

function serviceSections(service: DescService): Section[] {
  const { name: title, typeName } = service;
  return [
    { level: 2, title, typeName, body: () => [comment(service)] },
    ...service.methods.map((method) => ({
      level: 3,
      title: method.name,
      typeName: `${typeName}.${method.name}`,
      body: (link: Link) => methodBody(method, link),
    })),
  ];
}

function methodBody(method: DescMethod, link: Link): string[] {
  const { input, output, parent, name, methodKind, idempotency } = method;
  const level = MethodOptions_IdempotencyLevel[idempotency];
  const kind = methodKind === "server_streaming" ? "server stream, " : "";
  return [
    comment(method),
    `\`/${parent.typeName}/${name}\` (${kind}idempotency level \`${level}\`)`,
    `Scope: \`${getOption(method, scope)}\`${optionsOf(method)}`,
    `**Request**: ${inCell(comment(input))}`,
    fieldTable(input, link),
    `**Response**: ${inCell(comment(output))}`,
    fieldTable(output, link),
  ];
}

/** Whether a method is audited, and its limits if it has some of its own. */
function optionsOf(method: DescMethod): string {
  const [time, body] = [getOption(method, time_limit), getOption(method, body_limit)];
  return [
    getOption(method, audited) ? ", audited" : "",
    hasOption(method, time_limit) ? `, time limit ${time.seconds} s` : "",
    body > 0 ? `, body limit ${body.toLocaleString("en-US")} bytes` : "",
  ].join("");
}

function enumBody(type: DescEnum): string[] {
  const rows = type.values.map((value) => [String(value.number), value.name, comment(value)]);
  return [comment(type), table(["number", "name", "comment"], rows)];
}

function fieldTable(message: DescMessage, link: Link): string {
  if (message.fields.length === 0) return "";
  const rows = message.fields.map((field) => [
    `\`${field.name}\``,
    typeOf(field, link),
    rulesOf(field),
    comment(field),
  ]);
  return table(["field", "type", "rule", "comment"], rows);
}

function typeOf(field: DescField, link: Link): string {
  const type = field.message ?? field.enum;
  const name = type
    ? link(type.typeName, shortName(type))
    : ScalarType[field.scalar ?? 0]?.toLowerCase();
  if (field.fieldKind === "map") return `map of ${name}`;
  if (field.fieldKind === "list") return `repeated ${name}`;
  return field.proto.proto3Optional ? `optional ${name}` : `${name}`;
}

/** A name without its package, if it is a package of this project. */
const shortName = ({ typeName }: DescMessage | DescEnum): string =>
  typeName.replace(/^meguri\.\w+\.\w+\./, "");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(inCell).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** Text on one line, with the separator of cells escaped. */
const inCell = (text: string) => text.replace(/\s*\n\s*/g, " ").replaceAll("|", "\\|");

function comment(desc: Parameters<typeof getComments>[0]): string {
  const text = getComments(desc).leading ?? "";
  return text.replace(/^ /gm, "").trim().replaceAll("<", "\\<");
}

/** Anchors as GitHub makes them from headings: the second equal one gets "-1", and so on. */
function anchorsOf(sections: readonly Section[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  return new Map(
    sections.map(({ title, typeName }) => {
      const slug = title.toLowerCase().replace(/[^\w-]/g, "");
      const count = counts.get(slug) ?? 0;
      counts.set(slug, count + 1);
      return [typeName, count === 0 ? slug : `${slug}-${count}`];
    }),
  );
}
