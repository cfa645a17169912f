/** Whether a key is typed into a field or an editor, or belongs to the browser: the page's keys do nothing then. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  const isField = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
  return isField || event.ctrlKey || event.metaKey || event.altKey;
}
