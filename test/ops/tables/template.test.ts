/** Tests the functions of CloudFormation that templates of tables may have. */
import { expect, test } from "vitest";
import { readTemplate } from "../../../src/ops/tables/template.ts";

const head = `
Parameters:
  Prefix: { Type: String, Default: shop- }
  Mode: { Type: String, Default: small }
  Units: { Type: Number, Default: 5 }
Conditions:
  IsLarge: !Equals [!Ref Mode, large]
  IsSmall: !Not [!Equals [!Ref Mode, large]]
Resources:
  Queue: { Type: AWS::SQS::Queue, Properties: { Name: !Join ["", [a, b]] } }
`;

const read = (properties: string, given = {}) =>
  readTemplate(`${head}  Table: { Type: AWS::DynamoDB::Table, Properties: ${properties} }`, given);

test("parameters have their defaults, or what is given", () => {
  const properties = `{ TableName: !Sub '\${Prefix}points', Units: !Ref Units, L: [!Ref Units] }`;
  expect(read(properties)).toEqual([{ TableName: "shop-points", Units: 5, L: [5] }]);
  expect(read(properties, { Prefix: "", Units: 7 })).toEqual([
    { TableName: "points", Units: 7, L: [7] },
  ]);
});

test("conditions choose, and AWS::NoValue leaves a property out", () => {
  const properties =
    "{ One: !If [IsLarge, { Deep: !Ref Units }, !Ref AWS::NoValue], Two: !If [IsSmall, 1, 2] }";
  expect(read(properties)).toEqual([{ Two: 1 }]);
  expect(read(properties, { Mode: "large" })).toEqual([{ One: { Deep: 5 }, Two: 2 }]);
});

test("the long forms of functions are the same", () => {
  const properties = `{ TableName: { 'Fn::Sub': '\${Prefix}bulk' }, Units: { Ref: Units } }`;
  expect(read(properties)).toEqual([{ TableName: "shop-bulk", Units: 5 }]);
});

test("an unknown function or parameter is an error", () => {
  expect(() => read("{ TableName: !Join ['', [a, b]] }")).toThrow("has Fn::Join, which");
  expect(() => read("{ TableName: !Ref Prefx }")).toThrow("no parameter Prefx");
  expect(() => read(`{ TableName: !Sub 'a\${Prefx}' }`)).toThrow("no parameter Prefx");
});
