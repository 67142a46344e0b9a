// PTX for highlight.js, which does not know it. book.js has run before and has left blocks of an unknown language as
// they are, so this script highlights them itself.
hljs.registerLanguage("ptx", (hljs) => ({
    name: "PTX",
    contains: [
        hljs.C_LINE_COMMENT_MODE,
        hljs.C_BLOCK_COMMENT_MODE,
        hljs.QUOTE_STRING_MODE,
        // A label at the start of its line: `LOOP:`, `$L__BB0_2:`.
        { className: "section", begin: /^[ \t]*[A-Za-z_$][\w$]*:(?!:)/ },
        // What the hardware provides: `%tid.x`, `%laneid`.
        { className: "built_in", begin: /%(?:n?tid|n?ctaid|n?laneid|n?warpid|n?smid|lanemask_\w+|clock\w*)\b(?:\.[xyz])?/ },
        { className: "variable", begin: /%[\w$]+/ },
        // Also floats by their bits: `0f3F800000`.
        { className: "number", begin: /\b0[fFdDxX][0-9a-fA-F]+U?\b|\b\d+(?:\.\d+)?U?\b/ },
        // An opcode with all that it is spelled with: `ld.global.v4.f32`, `shfl.sync.bfly.b32`.
        { className: "keyword", begin: /\b[a-z]\w*(?:(?:\.|::)\w+)+|\b(?:bra|call|exit|ret|trap)\b/ },
        { className: "type", begin: /\.(?:pred|[busf]\d+(?:x2)?|bf16(?:x2)?)\b/ },
        // Directives and state spaces: `.entry`, `.param`, `.shared`.
        { className: "meta", begin: /\.[a-z]\w*/ },
    ],
}));
document.querySelectorAll("code.language-ptx").forEach((block) => hljs.highlightBlock(block));
