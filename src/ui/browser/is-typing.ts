/**
 * Whether a key press goes to a field or an editor, or belongs to the browser. The page's shortcuts ignore such a key.
 */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  const isField = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
  return isField || event.ctrlKey || event.metaKey || event.altKey;
}
