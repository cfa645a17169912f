import sax from "sax";
import { messageOf } from "../../core/errors.js";

/** An element of an XML document: the text directly in it, and its child elements. */
export interface XmlElement {
  /** The name without a namespace prefix. */
  readonly name: string;
  readonly text: string;
  readonly children: readonly XmlElement[];
}

interface OpenElement extends XmlElement {
  text: string;
  readonly children: XmlElement[];
}

/** Deepest permitted nesting. Documents of object stores have at most 4 levels. */
const MAX_DEPTH = 16;

/**
 * Parses a whole XML document strictly. Entities are decoded. A document type is refused, because it can define further
 * entities.
 *
 * @throws {Error} where the document is not well-formed, or is not complete.
 */
export function parseXml(document: string): XmlElement {
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions);
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  const addText = (text: string): void => {
    const current = open.at(-1);
    if (current !== undefined) current.text += text;
  };
  const handlers: Partial<sax.SAXParser> = {
    onerror(error) {
      throw new Error(messageOf(error).replaceAll(/\s+/g, " "));
    },
    ondoctype() {
      throw new Error("it has a document type");
    },
    onopentag({ name }) {
      if (root !== undefined) throw new Error("it has elements after its end");
      if (open.length === MAX_DEPTH) throw new Error(`its elements are nested more than ${MAX_DEPTH} deep`);
      open.push({ name: name.replace(/^.*:/, ""), text: "", children: [] });
    },
    onclosetag() {
      const closed = open.pop();
      if (closed === undefined) return;
      const parent = open.at(-1);
      if (parent === undefined) root = closed;
      else parent.children.push(closed);
    },
    ontext: addText,
    oncdata: addText,
  };
  Object.assign(parser, handlers);
  parser.write(document.replace(/^\uFEFF/, "")).close();
  if (root === undefined) throw new Error("it has no element");
  return root;
}

/** The elements with a name directly in an element. */
export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

/** The text of the first element with a name directly in an element; undefined where there is none. */
export function textOf(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}
