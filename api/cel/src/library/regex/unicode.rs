//! Names of Unicode classes that RE2 knows: categories, their long names, and scripts.

/// Categories: abbreviation, and long names that stand for it.
const CATEGORIES: [(&str, &[&str]); 39] = [
    ("C", &["Other"]),
    ("Cc", &["Control", "cntrl"]),
    ("Cf", &["Format"]),
    ("Cn", &["Unassigned"]),
    ("Co", &["Private_Use"]),
    ("Cs", &["Surrogate"]),
    ("L", &["Letter"]),
    ("LC", &["Cased_Letter"]),
    ("Ll", &["Lowercase_Letter"]),
    ("Lm", &["Modifier_Letter"]),
    ("Lo", &["Other_Letter"]),
    ("Lt", &["Titlecase_Letter"]),
    ("Lu", &["Uppercase_Letter"]),
    ("M", &["Mark", "Combining_Mark"]),
    ("Mc", &["Spacing_Mark"]),
    ("Me", &["Enclosing_Mark"]),
    ("Mn", &["Nonspacing_Mark"]),
    ("N", &["Number"]),
    ("Nd", &["Decimal_Number", "digit"]),
    ("Nl", &["Letter_Number"]),
    ("No", &["Other_Number"]),
    ("P", &["Punctuation", "punct"]),
    ("Pc", &["Connector_Punctuation"]),
    ("Pd", &["Dash_Punctuation"]),
    ("Pe", &["Close_Punctuation"]),
    ("Pf", &["Final_Punctuation"]),
    ("Pi", &["Initial_Punctuation"]),
    ("Po", &["Other_Punctuation"]),
    ("Ps", &["Open_Punctuation"]),
    ("S", &["Symbol"]),
    ("Sc", &["Currency_Symbol"]),
    ("Sk", &["Modifier_Symbol"]),
    ("Sm", &["Math_Symbol"]),
    ("So", &["Other_Symbol"]),
    ("Z", &["Separator"]),
    ("Zl", &["Line_Separator"]),
    ("Zp", &["Paragraph_Separator"]),
    ("Zs", &["Space_Separator"]),
    ("Any", &[]),
];

/// Scripts of Unicode 15.
const SCRIPTS: &str = "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali \
    Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee \
    Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan \
    Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi \
    Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi \
    Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki \
    Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean \
    Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi \
    Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong \
    Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian \
    Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi \
    Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese \
    Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan \
    Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square";

/// No character at all.
const NOTHING: &str = "[^\\x{0}-\\x{10FFFF}]";
/// Every character.
const ANYTHING: &str = "[\\x{0}-\\x{10FFFF}]";

/// The class of a name, or what it leaves out when `negated`, as the regular expressions of the crate `regex` write it;
/// `None` for a name that RE2 does not know.
pub(super) fn class(name: &str, negated: bool) -> Option<String> {
    let sign = if negated { 'P' } else { 'p' };
    if same_name(name, "Any") {
        return Some(if negated { NOTHING } else { ANYTHING }.to_owned());
    }
    if same_name(name, "ASCII") || same_name(name, "Assigned") {
        return Some(format!("\\{sign}{{{}}}", name.to_ascii_lowercase()));
    }
    let named = |(short, long): &&(&str, &[&str])| {
        same_name(name, short) || long.iter().any(|it| same_name(name, it))
    };
    if let Some((category, _)) = CATEGORIES.iter().find(named) {
        // Text has no surrogates.
        let surrogates = if negated { ANYTHING } else { NOTHING };
        return Some(if *category == "Cs" {
            surrogates.to_owned()
        } else {
            format!("\\{sign}{{gc={category}}}")
        });
    }
    let script = SCRIPTS.split(' ').find(|known| same_name(name, known))?;
    Some(format!("\\{sign}{{sc={script}}}"))
}

/// Whether names are the same but for their case, spaces, dashes and underscores.
fn same_name(left: &str, right: &str) -> bool {
    letters(left).eq(letters(right))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    let kept = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-' | b' '));
    kept.map(|byte| byte.to_ascii_lowercase())
}
