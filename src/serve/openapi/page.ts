import type { JsonSchema, OpenApiDocument, Operation, Parameter } from "./document.js";

/** The interface as an HTML page for people, without scripts or external resources. */
export function documentationPage({ info, paths, components }: OpenApiDocument): string {
  const inlined = withoutRefs(paths, components.schemas) as OpenApiDocument["paths"];
  const operations = Object.entries(inlined).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = [...new Set(operations.map(({ operation }) => operation.tags[0]))];
  return page(
    info.title,
    `<header><h1>${text(info.title)}</h1>
<p>${text(info.description)} Every request carries its key in the header <code>x-api-key</code>.
<a href="/openapi.json">openapi.json</a></p></header>
<nav>${groups.map((group) => `<a href="#${text(group)}">${text(group)}</a>`).join(" ")}</nav>
<main>
${groups
  .map((group) => {
    const own = operations.filter(({ operation }) => operation.tags[0] === group);
    return `<h2 id="${text(group)}">${text(group)}</h2>\n${own.map(section).join("\n")}`;
  })
  .join("\n")}
</main>`,
  );
}

/** The page at the service's address, for a person who opens it in a browser. */
export function frontPage(): string {
  return page(
    "barlake",
    `<h1>barlake</h1>
<p>This is a market data service: K-lines, quotes, reference data and statements of a lake, over HTTP.</p>
<ul>
<li><a href="/docs">The interface</a>: every endpoint with its parameters and an example</li>
<li><a href="/openapi.json">openapi.json</a>, for client generators</li>
<li><a href="/health">health</a> and <a href="/metrics">metrics</a></li>
</ul>
<p>Requests carry a key in the header <code>x-api-key</code>:</p>
<pre>curl -H "x-api-key: $BARLAKE_API_KEY" HOST/v1/exchanges</pre>`,
  );
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** A part of the document in which every reference is replaced by the schema that it names. */
function withoutRefs(part: unknown, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  if (Array.isArray(part)) return part.map((item) => withoutRefs(item, schemas));
  if (typeof part !== "object" || part === null) return part;
  if ("$ref" in part) return withoutRefs(schemas[String(part.$ref).split("/").at(-1) ?? ""], schemas);
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, withoutRefs(value, schemas)]));
}

interface Shown {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

function section({ method, path, operation }: Shown): string {
  const { operationId, summary, parameters, requestBody, responses } = operation;
  const body = requestBody?.content["application/json"].schema;
  const rows = [...parameters.map(parameterRow), ...(body === undefined ? [] : bodyRows(body))];
  const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
  const response = responses["200"]?.content?.["application/json"].schema ?? {};
  return `<section id="${text(operationId)}">
<h3><span class="${method.toLowerCase()}">${method}</span> <code>${text(path)}</code></h3>
<p>${text(summary)}.</p>
${rows.length === 0 ? "" : `<table><tr><th>name<th>in<th>type<th>default<th>meaning</tr>${rows.join("")}</table>`}
<pre>${text(curl(method, path, parameters, body))}</pre>
<p class="shape"><b>200</b> <code>${text(shape(response))}</code></p>
<p class="errors">${errors.map(([status, { description }]) => `<b>${status}</b> ${text(description)}`).join(" · ")}</p>
</section>`;
}

function parameterRow({ name, in: place, required, description = "", schema }: Parameter): string {
  return row(name, place, required, schema, description);
}

function bodyRows({ properties = {}, required = [] }: JsonSchema): string[] {
  return Object.entries(properties).map(([name, schema]) =>
    row(name, "body", required.includes(name), schema, schema.description ?? ""),
  );
}

function row(name: string, place: string, required: boolean, schema: JsonSchema, meaning: string): string {
  const cells = [
    `<code>${text(name)}</code>${required ? " <i>required</i>" : ""}`,
    place,
    text(typeText(schema)),
    schema.default === undefined ? "" : `<code>${text(JSON.stringify(schema.default))}</code>`,
    text(meaning),
  ];
  return `<tr>${cells.map((cell) => `<td>${cell}`).join("")}</tr>`;
}

function typeText(schema: JsonSchema): string {
  const bounds = [
    ["minimum", ">="],
    ["maximum", "<="],
  ].flatMap(([keyword = "", word]) =>
    schema[keyword] === undefined ? [] : [`${word} ${JSON.stringify(schema[keyword])}`],
  );
  const values = schema.type === "boolean" ? undefined : schema.enum;
  return [
    values === undefined ? [schema.type ?? "any"].flat().join(" | ") : values.join(" | "),
    ...bounds,
  ].join(", ");
}

/** Example values of parameters by name, for requests that a reader can try. */
const EXAMPLES: Readonly<Record<string, string>> = {
  symbol: "600519.SH",
  symbols: "600519.SH",
  universes: "UNIVERSE",
  ids: "UNIVERSE",
  id: "UNIVERSE",
  exchange: "SH",
};

function curl(
  method: string,
  path: string,
  parameters: readonly Parameter[],
  body: JsonSchema | undefined,
): string {
  const target = path.replaceAll(/\{([a-z]+)\}/g, (_, name: string) => EXAMPLES[name] ?? name);
  const query = parameters
    .filter(({ in: place, required }) => place === "query" && required)
    .map(({ name }) => `${name}=${EXAMPLES[name] ?? ""}`);
  const address = `"$BARLAKE_URL${target}${query.length > 0 ? `?${query.join("&")}` : ""}"`;
  if (body === undefined) return `curl -H "x-api-key: $BARLAKE_API_KEY" ${address}`;
  const [name = ""] = Object.keys(body.properties ?? {});
  const sent = JSON.stringify({ [name]: [EXAMPLES[name]] });
  return `curl -H "x-api-key: $BARLAKE_API_KEY" -H "content-type: application/json" -X ${method} -d '${sent}' ${address}`;
}

/** A schema in one line: members by name, lists in brackets. */
function shape(schema: JsonSchema): string {
  const { properties, additionalProperties, items } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly additionalProperties?: JsonSchema | false;
    readonly items?: JsonSchema;
  };
  if (items !== undefined) return `[${shape(items)}]`;
  if (properties !== undefined) {
    const members = Object.entries(properties).map(([name, member]) => `${name}: ${shape(member)}`);
    return `{ ${members.join(", ")} }`;
  }
  if (schema.type === "object" && additionalProperties) return `{ KEY: ${shape(additionalProperties)} }`;
  const options = schema.anyOf as readonly JsonSchema[] | undefined;
  if (options !== undefined) return options.map(shape).join(" | ");
  return schema.type === undefined ? "any" : [schema.type].flat().join(" | ");
}

function text(raw: string): string {
  return raw
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dee4, #3d444d); --soft: light-dark(#f6f8fa, #151b23); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; padding: 1.5rem; }
nav { display: flex; gap: 1rem; position: sticky; top: 0; padding: .6rem 0; background: Canvas; border-bottom: 1px solid var(--line); }
h2 { margin-top: 2.5rem; } h3 { margin: 0; font-size: 1.05rem; }
section { border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0; }
h3 span { display: inline-block; min-width: 3.2rem; font-size: .8rem; text-align: center; border-radius: 4px; color: white; padding: .1rem .3rem; }
.get { background: #1a7f37; } .post { background: #0969da; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
body { overflow-wrap: anywhere; } nav { flex-wrap: wrap; }
section { overflow-x: auto; }
pre { background: var(--soft); padding: .6rem .8rem; border-radius: 6px; overflow-x: auto; font-size: .85rem; }
.shape code { font-size: .85rem; overflow-wrap: anywhere; } .errors { font-size: .85rem; margin-bottom: 0; opacity: .85; }
@media (max-width: 640px) {
  body { padding: .8rem; } nav { gap: .2rem .8rem; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  table, tbody { display: block; } tr:first-child, td:empty { display: none; }
  tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  td { padding: 0 .6rem 0 0; border: 0; display: inline; } td:last-child { display: block; }
  td:nth-child(4)::before { content: "default "; }
}
`;
