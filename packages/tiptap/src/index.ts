export { CaretSettlement, type CaretSettlementOptions, settleAfterInsertion } from './caretSettlement.js';
export { MentionClipboard, type MentionClipboardOptions } from './clipboard.js';
export {
  type DocumentReading,
  MentionHighlight,
  type MentionHighlightOptions,
  mentionAt,
  refreshMentions,
} from './mentionHighlight.js';
export { PasteBinding, type PasteBindingOptions, type Trust } from './pasteBinding.js';
export { PastedOccurrences, type PastedOccurrencesOptions } from './pastedOccurrences.js';
export { MentionPicker, type MentionPickerOptions, type OpenPicker } from './picker.js';
export { blockText, DocumentText } from './text.js';
